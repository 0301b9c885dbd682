import type { JsonObject } from '../../../src/api/json.ts'
import type { Hints, ObjectMaker } from './hint.ts'

const shape = 'apiextensions.v1'

/** Hints for a CRD whose schemas use all features of schemas. */
export const definitionHints: Hints = {
  [`${shape}.CustomResourceDefinitionSpec.group`]: (maker) => `${maker.word()}.example.com`,
  [`${shape}.CustomResourceDefinitionSpec.scope`]: (_, variant) =>
    variant % 2 === 0 ? 'Namespaced' : 'Cluster',
  [`${shape}.CustomResourceDefinitionSpec.preserveUnknownFields`]: () => undefined,
  [`${shape}.CustomResourceDefinitionSpec.conversion`]: () => ({ strategy: 'None' }),
  [`${shape}.CustomResourceDefinitionSpec.versions`]: (maker) => [
    version(maker, { name: 'v1', storage: true }),
    version(maker, { name: 'v1beta1', storage: false, deprecated: true, deprecationWarning: 'use v1' }),
  ],
  [`${shape}.CustomResourceDefinitionNames.kind`]: (maker) => `Kind${maker.word()}`,
  [`${shape}.CustomResourceDefinitionStatus.storedVersions`]: () => ['v1'],
  [`${shape}.CustomResourceDefinitionStatus.conditions`]: () => [
    {
      ...{ type: 'NonStructuralSchema', status: 'False', lastTransitionTime: '2026-01-02T03:04:05Z' },
      ...{ reason: 'Tested', message: 'all is well' },
    },
  ],
}

function version(maker: ObjectMaker, more: JsonObject): JsonObject {
  const { schemaMarkerPrefix } = maker.names
  return {
    served: true,
    schema: { openAPIV3Schema: fullSchema(schemaMarkerPrefix) },
    subresources: {
      status: {},
      scale: {
        ...{ specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' },
        labelSelectorPath: '.status.selector',
      },
    },
    additionalPrinterColumns: [
      {
        ...{ name: 'Count', type: 'integer', format: 'int32', description: 'How many.' },
        ...{ priority: 1, jsonPath: '.spec.count' },
      },
    ],
    selectableFields: [{ jsonPath: '.spec.color' }],
    ...more,
  }
}

function fullSchema(prefix: string): JsonObject {
  const text = { type: 'string', minLength: 1, maxLength: 9, pattern: '^[a-z]+$' }
  const count = { type: 'integer', format: 'int32', minimum: 0.5, exclusiveMinimum: true, maximum: 99.5 }
  const either = {
    allOf: [{ minimum: 2 }],
    anyOf: [{ minimum: 3 }],
    oneOf: [{ minimum: 4 }],
    not: { minimum: 9 },
  }
  const list = { type: 'array', minItems: 1, maxItems: 3 }
  const key = { type: 'object', required: ['a'], properties: { a: { type: 'string' } } }
  return {
    type: 'object',
    description: 'A thing.',
    title: 'Thing',
    example: { spec: { count: 2 } },
    externalDocs: { description: 'More of it.', url: 'https://example.com/things' },
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        minProperties: 1,
        maxProperties: 20,
        [`${prefix}validations`]: [
          {
            rule: 'self.count > 0 || oldSelf.hasValue()',
            ...{ message: 'counts', messageExpression: "'counts ' + self.color" },
            ...{ reason: 'FieldValueInvalid', fieldPath: '.count', optionalOldSelf: true },
          },
        ],
        properties: {
          count: { ...count, ...either, multipleOf: 0.5, exclusiveMaximum: true, default: 5 },
          color: { ...text, nullable: true, enum: ['red', 'blue', null] },
          words: { ...list, items: text, [`${prefix}list-type`]: 'set' },
          parts: { ...list, items: key, [`${prefix}list-type`]: 'map', [`${prefix}list-map-keys`]: ['a'] },
          labels: {
            type: 'object',
            additionalProperties: { type: 'string' },
            [`${prefix}map-type`]: 'granular',
          },
          size: { [`${prefix}int-or-string`]: true },
          template: {
            type: 'object',
            [`${prefix}embedded-resource`]: true,
            [`${prefix}preserve-unknown-fields`]: true,
          },
        },
      },
      status: { type: 'object', properties: { count, selector: text } },
    },
  }
}
