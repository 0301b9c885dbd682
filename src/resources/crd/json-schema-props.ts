import type { Names } from '../../api/metadata/names.ts'
import { double, flag, int64, listOf, mapOf, maybe, text, texts } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import type { AnySchema, ObjectSchema, Schema } from '../../api/schema/schema.ts'
import { openStruct } from './open-struct.ts'

/**
 * The schema of JSON schemas in definitions, in the dialect of OpenAPI 3.0. It is recursive: code
 * that traverses it must follow a value, or track the schemas that it visited.
 *
 * @source apiextensions/v1 JSONSchemaProps; spec 4.10 for the markers
 */
export function jsonSchemaProps(names: Names): ObjectSchema {
  const properties: { [name: string]: Schema } = {}
  const protobuf: { [name: string]: number } = {}
  const itself: ObjectSchema = {
    type: 'object',
    definition: 'apiextensions.v1.JSONSchemaProps',
    description: 'A JSON Schema, limited to the subset of OpenAPI 3.0.',
    properties,
    protobuf,
    keepsUnknown: true,
  }
  const fields = { ...ownFields(itself), ...markerFields(names.schemaMarkerPrefix) }
  for (const [name, { number, schema }] of Object.entries(fields)) {
    properties[name] = schema
    protobuf[name] = number
  }
  return itself
}

function ownFields(schema: ObjectSchema): { readonly [name: string]: Field } {
  const schemaOrBool = instead(
    schema,
    'JSONSchemaPropsOrBool',
    'A schema, or whether any value is allowed.',
    {
      type: 'boolean',
    },
  )
  const schemaOrList = instead(schema, 'JSONSchemaPropsOrArray', 'A schema, or a list of schemas.', {
    type: 'list',
    items: schema,
  })
  const schemaOrTexts = instead(schema, 'JSONSchemaPropsOrStringArray', 'A schema, or names of members.', {
    type: 'list',
    items: { type: 'string' },
  })
  const optional = { optional: true } as const
  return {
    id: text(1, 'Not supported: schemas have no IDs.'),
    $schema: text(2, 'URI of the JSON Schema dialect.'),
    $ref: text(3, 'Not supported: schemas have no references.', optional),
    description: text(4, 'Description of the value.'),
    type: text(5, 'JSON type of the value.'),
    format: text(6, 'Format of a string or number; unknown formats are ignored.'),
    title: text(7, 'Title of the value.'),
    default: anyJson(8, 'Filled in where the value is absent.'),
    maximum: double(9, 'Maximum of a number.', optional),
    exclusiveMaximum: flag(10, 'Whether maximum is exclusive.'),
    minimum: double(11, 'Minimum of a number.', optional),
    exclusiveMinimum: flag(12, 'Whether minimum is exclusive.'),
    maxLength: int64(13, 'Maximum length of a string.', optional),
    minLength: int64(14, 'Minimum length of a string.', optional),
    pattern: text(15, 'Regular expression that a string must match.'),
    maxItems: int64(16, 'Maximum number of items.', optional),
    minItems: int64(17, 'Minimum number of items.', optional),
    uniqueItems: flag(18, 'Must not be true: checking uniqueness takes too long.'),
    multipleOf: double(19, 'Number of which the value must be a multiple.', optional),
    enum: listOf(20, json, 'Allowed values.'),
    maxProperties: int64(21, 'Maximum number of properties.', optional),
    minProperties: int64(22, 'Minimum number of properties.', optional),
    required: texts(23, 'Required properties.'),
    items: maybe(24, schemaOrList, 'Schema of the items of a list.'),
    allOf: listOf(25, schema, 'Schemas of which all must match.'),
    oneOf: listOf(26, schema, 'Schemas of which exactly one must match.'),
    anyOf: listOf(27, schema, 'Schemas of which at least one must match.'),
    not: maybe(28, schema, 'Schema that must not match.'),
    properties: mapOf(29, schema, 'Schemas of properties, by name.'),
    additionalProperties: maybe(30, schemaOrBool, 'Schema of properties that are not listed.'),
    patternProperties: mapOf(31, schema, 'Not supported.'),
    dependencies: mapOf(32, schemaOrTexts, 'Not supported.'),
    additionalItems: maybe(33, schemaOrBool, 'Not supported.'),
    definitions: mapOf(34, schema, 'Not supported.'),
    externalDocs: maybe(35, externalDocs, 'External documentation of the value.'),
    example: anyJson(36, 'An example of a value.'),
    nullable: flag(37, 'Whether the value may be null.'),
  }
}

/** @source spec 4.10; the markers of release 1.24, and the validation rules of later releases */
function markerFields(prefix: string): { readonly [name: string]: Field } {
  const optional = { optional: true } as const
  return {
    [`${prefix}preserve-unknown-fields`]: flag(
      38,
      'Whether fields without a schema are preserved.',
      optional,
    ),
    [`${prefix}embedded-resource`]: flag(39, 'Whether the value is an embedded API object.'),
    [`${prefix}int-or-string`]: flag(40, 'Whether the value is an integer or a string.'),
    [`${prefix}list-map-keys`]: texts(41, 'Properties that identify the items of a list of type map.'),
    [`${prefix}list-type`]: text(42, 'List type: atomic, set or map.', optional),
    [`${prefix}map-type`]: text(43, 'Map type: atomic or granular.', optional),
    [`${prefix}validations`]: listOf(44, validationRule, 'Validation rules as expressions.', {
      listType: 'map',
      listMapKeys: ['rule'],
      patchMergeKey: 'rule',
      patchStrategy: 'merge',
    }),
  }
}

const externalDocs = openStruct(
  'apiextensions.v1.ExternalDocumentation',
  'Reference to external documentation.',
  {
    description: text(1, 'Description of the documentation.'),
    url: text(2, 'URL of the documentation.'),
  },
)

const validationRule = openStruct('apiextensions.v1.ValidationRule', 'A validation rule.', {
  rule: text(1, 'The expression.', { required: true, always: true }),
  message: text(2, 'Error message when the rule fails.'),
  messageExpression: text(3, 'Expression that computes the error message.'),
  reason: text(4, 'Machine-readable reason of the error.', { optional: true }),
  fieldPath: text(5, 'Path of the field in the error.'),
  optionalOldSelf: flag(6, 'Whether the rule is also evaluated without an old value.', { optional: true }),
})

const json: AnySchema = { type: 'any', definition: 'apiextensions.v1.JSON', description: 'Any JSON value.' }

function anyJson(number: number, words: string): Field {
  return { number, required: false, schema: { ...json, memberDescription: words, zeroMatters: true } }
}

function instead(
  schema: ObjectSchema,
  definition: string,
  description: string,
  other: NonNullable<ObjectSchema['instead']>[number],
): ObjectSchema {
  return { ...schema, definition: `apiextensions.v1.${definition}`, description, instead: [other] }
}
