import type { Findings } from '../api/errors/findings.ts'
import { invalid, keyPath, required, tooLong } from '../api/errors/field-error.ts'
import { isJsonObject, memberOf, objectMember, setMember, textMember } from '../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { base64Bytes } from '../api/schema/scalar.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import { ageColumn, cellAt, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkBootstrapToken } from './config-data/bootstrap-token.ts'
import {
  checkImmutable,
  checkKeys,
  dataBytesMax,
  dataColumn,
  mapOf,
  textsOf,
  withoutEmptyMaps,
} from './config-data/config-data.ts'

/** Confidential data of a limited size. @source spec 2.3, 2.4 */
export function secretDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Secret',
    plural: 'secrets',
    singular: 'secret',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: secretSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    selectableFields: ['type'],
    columns: [nameColumn, typeColumn, dataColumn(['data']), ageColumn],
    hooks: {
      mergeWriteOnly: withStringData,
      prepareForCreate: (object) => withoutEmptyMaps(withType(object, 'Opaque'), ['data']),
      prepareForUpdate: (object, current) =>
        withoutEmptyMaps(withType(object, textMember(current, 'type')), ['data']),
      validate: (object, found) => validate(object, names, found),
      validateUpdate,
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

const typeColumn: Column = {
  name: 'Type',
  type: 'string',
  description: 'Type of the Secret.',
  cell: (object) => cellAt(object, 'type'),
}

const secretSchema: ObjectSchema = {
  type: 'object',
  definition: 'core.v1.Secret',
  description: 'Confidential data, by key; at most 1 MiB.',
  properties: {
    data: {
      type: 'map',
      values: { type: 'string', format: 'bytes' },
      description: 'Values by key, in base64.',
    },
    stringData: {
      type: 'map',
      values: { type: 'string' },
      description: 'Text values that are merged into data on writes; never returned.',
    },
    type: { type: 'string', description: 'Type of the Secret; Opaque by default.' },
    immutable: {
      type: 'boolean',
      zeroMatters: true,
      description: 'Whether the data is immutable; only the metadata can change then.',
    },
  },
  protobuf: { data: 2, stringData: 4, type: 3, immutable: 5 },
}

/**
 * Merges the write-only text into the data, so that managed fields refer to the data.
 *
 * @source upstream `pkg/apis/core/v1/conversion.go`, Convert_v1_Secret_To_core_Secret
 */
function withStringData(object: JsonObject): JsonObject {
  if (memberOf(object, 'stringData') === undefined) return object
  const texts = textsOf(objectMember(object, 'stringData'))
  const draft: JsonObjectDraft = { ...object }
  delete draft['stringData']
  if (texts.length === 0) return draft
  const data: JsonObjectDraft = { ...objectMember(object, 'data') }
  for (const [key, value] of texts) setMember(data, key, Buffer.from(value).toString('base64'))
  return { ...draft, data }
}

/** Without a type, a new Secret is Opaque, and an update keeps the current type. */
function withType(object: AnyObject, type: string): AnyObject {
  return textMember(object, 'type') === '' ? { ...object, type } : object
}

function validate(object: AnyObject, names: Names, found: Findings): void {
  const data = mapOf(object, 'data')
  checkKeys('data', data, found)
  checkContent(object, data, names, found)
  let bytes = 0
  for (const [, text] of textsOf(data)) bytes += base64Bytes(text)
  if (bytes > dataBytesMax) found.add(tooLong('data', dataBytesMax))
}

function validateUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  checkImmutable(object, current, ['data'], found)
  const type = textMember(object, 'type')
  if (type !== textMember(current, 'type')) found.add(invalid('type', type, 'field is immutable'))
}

/** Checks what the known types require: keys, the form of their values, or an annotation. */
function checkContent(object: AnyObject, data: JsonObject, names: Names, found: Findings): void {
  const types = names.secretTypes
  switch (textMember(object, 'type')) {
    case types.serviceAccountToken: {
      const annotation = names.label('service-account.name')
      const named = object.metadata.annotations?.[annotation] ?? ''
      if (named === '') found.add(required(keyPath('metadata.annotations', annotation)))
      return
    }
    case types.dockerCfg:
      checkJson('.dockercfg', data, found)
      return
    case types.dockerConfigJson:
      checkJson('.dockerconfigjson', data, found)
      return
    case types.basicAuth:
      if (Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password')) return
      found.add(required(keyPath('data', 'username')))
      found.add(required(keyPath('data', 'password')))
      return
    case types.sshAuth:
      if (textMember(data, 'ssh-privatekey') === '') found.add(required(keyPath('data', 'ssh-privatekey')))
      return
    case types.tls:
      for (const key of ['tls.crt', 'tls.key'].filter((key) => !Object.hasOwn(data, key)))
        found.add(required(keyPath('data', key)))
      return
    case types.bootstrapToken:
      // Clients of the domain k8s.io expect an invalid Secret to be accepted, and to be ignored
      // when it is used.
      if (names.domain === 'orch.io') checkBootstrapToken(object, data, names, found)
      return
    default:
      return
  }
}

/** The error omits the value: it is secret. */
function checkJson(key: string, data: JsonObject, found: Findings): void {
  if (!Object.hasOwn(data, key)) {
    found.add(required(keyPath('data', key)))
    return
  }
  try {
    if (isJsonObject(JSON.parse(Buffer.from(textMember(data, key), 'base64').toString('utf8')))) return
  } catch {
    found.add(invalid(keyPath('data', key), '<secret contents redacted>', 'must be JSON'))
    return
  }
  found.add(invalid(keyPath('data', key), '<secret contents redacted>', 'must be a JSON object'))
}
