import { Packr } from 'msgpackr'
import { assertNever } from '../../base/assert.ts'
import { MalformedCommandError } from './malformed-command-error.ts'
import { conditionNumber } from './condition-number.ts'
import type { ClusterIdentity, Command, Condition, EncodedObject, Operation, Settings } from './command.ts'
import { foundingFields, foundingIn } from './founding-codec.ts'
import type { Key } from './key.ts'
import { revision } from './revision.ts'
import type { Revision } from './revision.ts'

export { MalformedCommandError }

/*
 * A command is one msgpack array: [format, kind, ...fields]. Operations, conditions and objects are
 * arrays too, in the order of the lists below. Numbers that identify kinds are never changed or
 * reused.
 *
 * Only the proposer encodes a command. The members decode those bytes and never encode the command
 * again, so the encoding need not be canonical.
 */
const packr = new Packr({ useRecords: false, variableMapSize: true })
const format = 1

const commandNumber = {
  write: 0,
  bootstrap: 1,
  trim: 2,
  'change-settings': 3,
  'raise-feature-level': 4,
  'expire-sessions': 5,
} as const satisfies Record<Command['kind'], number>

const operationNumber = { put: 0, delete: 1 } as const satisfies Record<Operation['kind'], number>

/** Returns new bytes, owned by the caller. */
export function encodeCommand(command: Command): Uint8Array {
  return Uint8Array.prototype.slice.call(
    packr.pack([format, commandNumber[command.kind], ...fields(command)]),
  )
}

/**
 * The bytes of objects are views of `bytes`, not copies.
 * @throws MalformedCommandError
 */
export function decodeCommand(bytes: Uint8Array): Command {
  const [version, kind, ...rest] = array(unpack(bytes), 'command')
  if (version !== format) throw new MalformedCommandError(`its format is not ${format}`)
  switch (kind) {
    case commandNumber.write:
      return { kind: 'write', operations: operations(rest[0]) }
    case commandNumber.bootstrap:
      return {
        kind: 'bootstrap',
        identity: identity(rest[0]),
        settings: settings(rest[1]),
        operations: operations(rest[2]),
        featureLevel: rest.length > 3 ? whole(rest[3], 'level') : 1,
        ...foundingIn(rest[4]),
      }
    case commandNumber.trim:
      return { kind: 'trim', upTo: revisionIn(rest[0]) }
    case commandNumber['change-settings']:
      return {
        kind: 'change-settings',
        settings: settings(rest[0]),
        ...(rest[1] === undefined ? {} : { expected: settings(rest[1]) }),
      }
    case commandNumber['raise-feature-level']:
      return { kind: 'raise-feature-level', level: whole(rest[0], 'level'), ...foundingIn(rest[1]) }
    case commandNumber['expire-sessions']:
      return { kind: 'expire-sessions', before: whole(rest[0], 'before') }
    default:
      throw new MalformedCommandError('its kind is unknown')
  }
}

function fields(command: Command): unknown[] {
  switch (command.kind) {
    case 'write':
      return [command.operations.map(operationFields)]
    case 'bootstrap': {
      const { clusterId, apiDomain, continueTokenKey, keyFingerprints } = command.identity
      return [
        [clusterId, apiDomain, continueTokenKey, keyFingerprints],
        settingsFields(command.settings),
        command.operations.map(operationFields),
        ...(command.featureLevel === 1 && command.founding === undefined ? [] : [command.featureLevel]),
        ...foundingFields(command.founding),
      ]
    }
    case 'trim':
      return [command.upTo]
    case 'change-settings':
      return [
        settingsFields(command.settings),
        ...(command.expected === undefined ? [] : [settingsFields(command.expected)]),
      ]
    case 'raise-feature-level':
      return [command.level, ...foundingFields(command.founding)]
    case 'expire-sessions':
      return [command.before]
    default:
      return assertNever(command)
  }
}

/**
 * Fields that feature level 1 lacks come last. One is omitted while it and all fields after it are
 * unset.
 */
function settingsFields(value: Settings): unknown[] {
  const { historyWindowMs, historyEventsMin, objectBytesMax, storageBytesMax, leaseReads, staleAccessMs } =
    value
  const first = [historyWindowMs, historyEventsMin, objectBytesMax]
  if (staleAccessMs !== undefined) return [...first, storageBytesMax, leaseReads ?? 0, staleAccessMs]
  if (leaseReads !== undefined) return [...first, storageBytesMax, leaseReads]
  return storageBytesMax === null ? first : [...first, storageBytesMax]
}

function operationFields(operation: Operation): unknown[] {
  const { kind, key } = operation
  const conditions = operation.conditions.map(conditionFields)
  if (operation.kind === 'delete') return [operationNumber[kind], key, conditions]
  const { bytes, revisionOffset, itemOffset, uid, terminating, labels } = operation.object
  return [
    operationNumber[kind],
    key,
    conditions,
    [bytes, revisionOffset, itemOffset, uid, terminating, labels],
  ]
}

function conditionFields(condition: Condition): unknown[] {
  const number = conditionNumber[condition.kind]
  switch (condition.kind) {
    case 'absent':
    case 'exists':
      return [number]
    case 'uid-is':
      return [number, condition.uid]
    case 'revision-is':
      return [number, condition.revision]
    case 'namespace-active':
      return [number, condition.namespace]
    case 'prefix-empty':
      return [number, condition.prefixes]
    case 'other-revision-is':
      return [number, condition.key, condition.revision]
    default:
      return assertNever(condition)
  }
}

function unpack(bytes: Uint8Array): unknown {
  try {
    const value: unknown = packr.unpack(bytes)
    return value
  } catch (cause) {
    throw new MalformedCommandError(cause instanceof Error ? cause.message : 'not msgpack')
  }
}

function operations(value: unknown): Operation[] {
  return array(value, 'operations').map(operation)
}

function operation(value: unknown): Operation {
  const [kind, key, conditions, object] = array(value, 'operation')
  const common = { key: keyIn(key), conditions: array(conditions, 'conditions').map(condition) }
  if (kind === operationNumber.put) return { kind: 'put', ...common, object: objectIn(object) }
  if (kind === operationNumber.delete) return { kind: 'delete', ...common }
  throw new MalformedCommandError('an operation has an unknown kind')
}

function condition(value: unknown): Condition {
  const [kind, field, second] = array(value, 'condition')
  switch (kind) {
    case conditionNumber.absent:
      return { kind: 'absent' }
    case conditionNumber.exists:
      return { kind: 'exists' }
    case conditionNumber['uid-is']:
      return { kind: 'uid-is', uid: text(field, 'uid') }
    case conditionNumber['revision-is']:
      return { kind: 'revision-is', revision: revisionIn(field) }
    case conditionNumber['namespace-active']: {
      const namespace = text(field, 'namespace')
      if (namespace.includes('/')) throw new MalformedCommandError('a namespace contains a slash')
      return { kind: 'namespace-active', namespace }
    }
    case conditionNumber['prefix-empty']:
      return {
        kind: 'prefix-empty',
        prefixes: array(field, 'prefixes').map((prefix) => text(prefix, 'prefix')),
      }
    case conditionNumber['other-revision-is']:
      return { kind: 'other-revision-is', key: keyIn(field), revision: revisionIn(second) }
    default:
      throw new MalformedCommandError('a condition has an unknown kind')
  }
}

function objectIn(value: unknown): EncodedObject {
  const [bytes, revisionOffset, itemOffset, uid, terminating, labels] = array(value, 'object')
  if (!(bytes instanceof Uint8Array)) throw new MalformedCommandError('an object has no bytes')
  const offsets = { revisionOffset: whole(revisionOffset, 'offset'), itemOffset: whole(itemOffset, 'offset') }
  if (offsets.itemOffset > offsets.revisionOffset || offsets.revisionOffset > bytes.byteLength) {
    throw new MalformedCommandError('an offset lies outside its object')
  }
  if (typeof terminating !== 'boolean') throw new MalformedCommandError('terminating is not a boolean')
  return {
    bytes,
    ...offsets,
    uid: text(uid, 'uid', partLengthMax),
    terminating,
    labels: labels === null ? null : texts(labels, 'labels'),
  }
}

function identity(value: unknown): ClusterIdentity {
  const [clusterId, apiDomain, continueTokenKey, keyFingerprints] = array(value, 'identity')
  if (apiDomain !== 'orch.io' && apiDomain !== 'k8s.io')
    throw new MalformedCommandError('the API domain is unknown')
  if (!(continueTokenKey instanceof Uint8Array)) throw new MalformedCommandError('a key has no bytes')
  return {
    clusterId: text(clusterId, 'cluster id'),
    apiDomain,
    // Copied, because it is kept as long as the cluster exists: a view would keep a whole log entry
    // alive.
    continueTokenKey: Uint8Array.from(continueTokenKey),
    keyFingerprints: texts(keyFingerprints, 'fingerprints'),
  }
}

function settings(value: unknown): Settings {
  const [historyWindowMs, historyEventsMin, objectBytesMax, storageBytesMax, leaseReads, staleAccessMs] =
    array(value, 'settings')
  return {
    historyWindowMs: whole(historyWindowMs, 'window'),
    historyEventsMin: whole(historyEventsMin, 'events'),
    objectBytesMax: whole(objectBytesMax, 'bytes'),
    storageBytesMax:
      storageBytesMax === undefined || storageBytesMax === null ? null : whole(storageBytesMax, 'quota'),
    ...(leaseReads === undefined ? {} : { leaseReads: whole(leaseReads, 'lease reads') }),
    ...(staleAccessMs === undefined ? {} : { staleAccessMs: whole(staleAccessMs, 'stale access') }),
  }
}

/**
 * A record stores the lengths of keys and uids in 16 bits; a UTF-16 unit takes at most three bytes.
 */
const partLengthMax = 20_000

function keyIn(value: unknown): Key {
  const key = text(value, 'key', partLengthMax)
  if (key.split('/').length !== 4) throw new MalformedCommandError('a key does not have four parts')
  return key as Key
}

function revisionIn(value: unknown): Revision {
  return revision(whole(value, 'revision'))
}

function array(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw new MalformedCommandError(`${what} is not an array`)
  return value
}

function text(value: unknown, what: string, most = Number.MAX_SAFE_INTEGER): string {
  if (typeof value !== 'string' || value.length > most)
    throw new MalformedCommandError(`${what} is not a text, or is too long`)
  return value
}

function whole(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new MalformedCommandError(`${what} is not a whole number`)
  }
  return value
}

function texts(value: unknown, what: string): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MalformedCommandError(`${what} is not a record`)
  }
  const record: Record<string, string> = {}
  for (const [name, one] of Object.entries(value)) record[name] = text(one, what)
  return record
}
