import type { Names } from '../../api/metadata/names.ts'
import { double, flag, int64, listOf, mapOf, maybe, struct, text, texts } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import type { AnySchema, ObjectSchema, Schema } from '../../api/schema/schema.ts'

/**
 * The shape of schemas that definitions carry: JSON Schema as OpenAPI 3.0 has it. It holds itself, so whoever walks it
 * walks a value along with it, or remembers where it was.
 *
 * @source apiextensions/v1 JSONSchemaProps; spec 4.10 for the markers
 */
export function jsonSchemaProps(names: Names): ObjectSchema {
  const properties: { [name: string]: Schema } = {}
  const protobuf: { [name: string]: number } = {}
  const itself: ObjectSchema = {
    type: 'object',
    definition: 'apiextensions.v1.JSONSchemaProps',
    description: 'A JSON Schema, of the part of it that OpenAPI 3.0 has.',
    properties,
    protobuf,
  }
  const fields = { ...ownFields(itself), ...markerFields(names.schemaMarkerPrefix) }
  for (const [name, { number, schema }] of Object.entries(fields)) {
    properties[name] = schema
    protobuf[name] = number
  }
  return itself
}

function ownFields(schema: ObjectSchema): { readonly [name: string]: Field } {
  const schemaOrBool = instead(schema, 'JSONSchemaPropsOrBool', 'A schema, or whether anything goes.', {
    type: 'boolean',
  })
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
    id: text(1, 'Not taken: schemas have no names of their own.'),
    $schema: text(2, 'Which JSON Schema this is.'),
    $ref: text(3, 'Not taken: schemas refer to none.', optional),
    description: text(4, 'What the value is for; clients show it.'),
    type: text(5, 'JSON type of the value.'),
    format: text(6, 'Form of a text, or size of a number; unknown ones say nothing.'),
    title: text(7, 'Short name of the value.'),
    default: anyJson(8, 'Filled in where the value is absent.'),
    maximum: double(9, 'Largest number.', optional),
    exclusiveMaximum: flag(10, 'The largest number itself is too large.'),
    minimum: double(11, 'Smallest number.', optional),
    exclusiveMinimum: flag(12, 'The smallest number itself is too small.'),
    maxLength: int64(13, 'Most characters of a text.', optional),
    minLength: int64(14, 'Fewest characters of a text.', optional),
    pattern: text(15, 'Regular expression that a text must match somewhere.'),
    maxItems: int64(16, 'Most elements of a list.', optional),
    minItems: int64(17, 'Fewest elements of a list.', optional),
    uniqueItems: flag(18, 'Not taken as true: it takes too long to check.'),
    multipleOf: double(19, 'What a number must be a multiple of.', optional),
    enum: listOf(20, json, 'The values there are.'),
    maxProperties: int64(21, 'Most members of an object.', optional),
    minProperties: int64(22, 'Fewest members of an object.', optional),
    required: texts(23, 'Members that must be there.'),
    items: maybe(24, schemaOrList, 'What elements of a list are.'),
    allOf: listOf(25, schema, 'Schemas that must all hold.'),
    oneOf: listOf(26, schema, 'Schemas of which exactly one must hold.'),
    anyOf: listOf(27, schema, 'Schemas of which one at least must hold.'),
    not: maybe(28, schema, 'A schema that must not hold.'),
    properties: mapOf(29, schema, 'Members of an object, by name.'),
    additionalProperties: maybe(30, schemaOrBool, 'What other members are.'),
    patternProperties: mapOf(31, schema, 'Not taken.'),
    dependencies: mapOf(32, schemaOrTexts, 'Not taken.'),
    additionalItems: maybe(33, schemaOrBool, 'Not taken.'),
    definitions: mapOf(34, schema, 'Not taken.'),
    externalDocs: maybe(35, externalDocs, 'Where more is said of the value.'),
    example: anyJson(36, 'A value, to show.'),
    nullable: flag(37, 'The value may be null.'),
  }
}

/** @source spec 4.10; the markers of release 1.24, and rules as later releases have them */
function markerFields(prefix: string): { readonly [name: string]: Field } {
  const optional = { optional: true } as const
  return {
    [`${prefix}preserve-unknown-fields`]: flag(38, 'Members that nobody described are kept.', optional),
    [`${prefix}embedded-resource`]: flag(39, 'The value is an API object of its own.'),
    [`${prefix}int-or-string`]: flag(40, 'The value is an integer or a text.'),
    [`${prefix}list-map-keys`]: texts(41, 'Members by which elements of a list differ.'),
    [`${prefix}list-type`]: text(42, 'What a list is: atomic, set or map.', optional),
    [`${prefix}map-type`]: text(43, 'What an object is: atomic or granular.', optional),
    [`${prefix}validations`]: listOf(
      44,
      validationRule,
      'Rules as expressions. Stored, but not evaluated yet.',
      {
        listType: 'map',
        listMapKeys: ['rule'],
        patchMergeKey: 'rule',
        patchStrategy: 'merge',
      },
    ),
  }
}

const externalDocs = struct('apiextensions.v1.ExternalDocumentation', 'Where more is said.', {
  description: text(1, 'What is said there.'),
  url: text(2, 'Where that is.'),
})

const validationRule = struct('apiextensions.v1.ValidationRule', 'A rule as an expression.', {
  rule: text(1, 'The expression.', { required: true }),
  message: text(2, 'Message of the error where it does not hold.'),
  messageExpression: text(3, 'Expression that gives the message.'),
  reason: text(4, 'Machine-readable reason of the error.', { optional: true }),
  fieldPath: text(5, 'Field that the error names.'),
  optionalOldSelf: flag(6, 'The rule is evaluated without an old value too.', { optional: true }),
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
