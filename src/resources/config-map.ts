import type { Findings } from '../api/errors/findings.ts'
import { invalid, keyPath, tooLong } from '../api/errors/field-error.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { base64Bytes } from '../api/schema/scalar.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import { utf8Length } from '../api/utf8.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, DefinitionFor, ResourceDefinition } from '../registry/kinds/definition.ts'
import {
  checkImmutable,
  checkKeys,
  dataBytesMax,
  dataColumn,
  mapOf,
  textsOf,
  withoutEmptyMaps,
} from './config-data/config-data.ts'

/** Configuration for other objects to use. @source spec 2.2 */
export const configMapDefinition: DefinitionFor = () =>
  Object.freeze({
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    singular: 'configmap',
    shortNames: ['cm'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: configMapSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    columns: [nameColumn, dataColumn(maps), ageColumn],
    hooks: {
      prepareForCreate: (object) => withoutEmptyMaps(object, maps),
      prepareForUpdate: (object) => withoutEmptyMaps(object, maps),
      validate,
      validateUpdate: (object, current, found) => checkImmutable(object, current, maps, found),
    },
    subresources: [],
  } satisfies ResourceDefinition)

const maps = ['data', 'binaryData']

const configMapSchema: ObjectSchema = {
  type: 'object',
  definition: 'core.v1.ConfigMap',
  description: 'Configuration data for other objects, by key.',
  properties: {
    data: {
      type: 'map',
      values: { type: 'string' },
      description: 'Text values by key; keys must not overlap with binaryData.',
    },
    binaryData: {
      type: 'map',
      values: { type: 'string', format: 'bytes' },
      description: 'Binary values by key, in base64; keys must not overlap with data.',
    },
    immutable: {
      type: 'boolean',
      zeroMatters: true,
      description: 'Whether the data is immutable; only the metadata can change then.',
    },
  },
  protobuf: { data: 2, binaryData: 3, immutable: 4 },
}

function validate(object: AnyObject, found: Findings): void {
  const data = mapOf(object, 'data')
  const binaryData = mapOf(object, 'binaryData')
  checkKeys('data', data, found)
  checkKeys('binaryData', binaryData, found)
  let bytes = 0
  for (const [key, text] of textsOf(data)) {
    bytes += utf8Length(text)
    if (!Object.hasOwn(binaryData, key)) continue
    found.add(invalid(keyPath('data', key), key, 'duplicate of key present in binaryData'))
  }
  for (const [, text] of textsOf(binaryData)) bytes += base64Bytes(text)
  if (bytes > dataBytesMax) found.add(tooLong('', dataBytesMax))
}
