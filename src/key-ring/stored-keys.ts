import { createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { assert, assertNever } from '../../base/assert.ts'
import { isJsonObject } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { publicKeyPem } from '../pki/keys.ts'
import { encode, parseStored } from '../registry/kinds/encode.ts'
import type { Condition, Operation } from '../store/command.ts'
import { keyOf, partsOf, prefixOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore, StoredObject, View } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import { KeyRingError } from './errors.ts'
import type { Recipient } from './sealing.ts'
import { signingKeysFields, signingKeysOf } from './signing-keys.ts'
import type { SigningKeys } from './signing-keys.ts'

/** No kind has this group, so no API path leads here. */
const internal = { group: 'internal', namespace: '' } as const
const signingName = 'service-accounts'

/** Where the signing keys are stored. */
export const signingKeysKey = keyOf({ ...internal, plural: 'signingkeys', name: signingName })
export const signingKeysPrefix = prefixOf({ ...internal, plural: 'signingkeys', namespace: null })

/** The public keys of the members; see `memberKey`. */
export const memberKeysPrefix = prefixOf({ ...internal, plural: 'sealingkeys', namespace: null })

export function memberKeyKey(member: string): Key {
  return keyOf({ ...internal, plural: 'sealingkeys', name: member })
}

/** Parses a stored object under `signingKeysPrefix`. */
export function storedSigningKeys(stored: StoredObject): SigningKeys {
  const keys = signingKeysOf(parseStored(stored)['spec'])
  assert(keys !== null, 'stored signing keys are signing keys')
  return keys
}

/** Parses a stored object under `memberKeysPrefix`. */
export function storedMemberKey(stored: StoredObject): Recipient {
  const spec: unknown = parseStored(stored)['spec']
  const pem = isJsonObject(spec) ? spec['publicKey'] : undefined
  assert(typeof pem === 'string', 'a stored key of a member is a key')
  return { member: partsOf(stored.key).name, publicKey: createPublicKey(pem) }
}

export function memberKeysIn(view: Pick<View, 'list'>): readonly Recipient[] {
  return view.list(memberKeysPrefix, { after: null, limit: null }).objects.map(storedMemberKey)
}

export function putSigningKeys(keys: SigningKeys, expected: Revision | null): Operation {
  const fields = { ...signingKeysFields(keys) }
  return put(signingKeysKey, 'SigningKeys', fields, [conditionOf(expected)])
}

export function putMemberKey(member: string, publicKey: KeyObject, expected: Revision | null): Operation {
  const fields = { publicKey: publicKeyPem(publicKey) }
  return put(memberKeyKey(member), 'SealingKey', fields, [conditionOf(expected)])
}

export function deleteMemberKey(member: string): Operation {
  return { kind: 'delete', key: memberKeyKey(member), conditions: [] }
}

/**
 * @returns false: something else was written first
 * @throws StoreError; KeyRingError `storage`, `too-large`
 */
export async function writeKeys(
  store: Pick<ObjectStore, 'write'>,
  operations: readonly Operation[],
  deadlineMs: number,
): Promise<boolean> {
  const outcome = await store.write({ kind: 'write', operations }, deadlineMs)
  switch (outcome.kind) {
    case 'done':
      return true
    case 'refused':
    case 'nothing':
      return false
    case 'over-quota':
      throw new KeyRingError(
        'storage',
        'the storage is full: delete objects or raise the quota (orchctl settings set)',
      )
    case 'too-large':
      throw new KeyRingError(
        'too-large',
        `the keys need an object of ${outcome.bytes} bytes, the limit is ${outcome.bytesMax}: ` +
          'raise the limit (orchctl settings set --object-size-max), or revoke signing keys (orchctl keys)',
      )
    default:
      return assertNever(outcome)
  }
}

function put(key: Key, kind: string, spec: JsonObject, conditions: readonly Condition[]): Operation {
  // The object has no references, so its name is enough of an identity.
  const { name } = partsOf(key)
  const object = encode({ kind, apiVersion: 'internal/v1', metadata: { name, uid: name }, spec })
  return { kind: 'put', key, conditions, object }
}

function conditionOf(expected: Revision | null): Condition {
  return expected === null ? { kind: 'absent' } : { kind: 'revision-is', revision: expected }
}
