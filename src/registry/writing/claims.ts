import { keyOf, prefixOf } from '../../store/key.ts'
import type { Key, KeyPrefix } from '../../store/key.ts'
import type { Condition, Operation } from '../../store/command.ts'
import type { StoredObject } from '../../store/object-store.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ClaimedValue, ClaimRules } from '../kinds/claim-rules.ts'
import type { AnyObject, BodyKind } from '../kinds/definition.ts'
import { objectMember, textMember } from '../../api/json.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import { encode, parsedJson } from '../kinds/encode.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { withExtraOperations } from './plan.ts'
import type { Plan } from './plan.ts'

/**
 * The group of claims, which are not objects of the API. No custom kind can have a group without a
 * dot.
 */
const group = 'internal'

/** The prefix of all claims of a kind. */
export function claimsPrefix({ plural }: Pick<ClaimRules, 'plural'>): KeyPrefix {
  return prefixOf({ group, plural, namespace: null })
}

export function claimKey({ plural }: Pick<ClaimRules, 'plural'>, { set, value }: ClaimedValue): Key {
  return keyOf({ group, plural, namespace: set, name: value })
}

/** The request and the reads of an evaluation. */
type Evaluated = { readonly request: WriteRequest; readonly reads: ReadSet }

/**
 * Returns the object with the values that the server picks for it, if its kind has such values. A
 * write that loses a value to another one is evaluated again, and gets another value.
 *
 * @throws ApiError
 */
export function assignValues(
  { random }: Pick<VerbDependencies, 'random'>,
  { request: { definition }, reads }: Evaluated,
  object: AnyObject,
  current: AnyObject | null,
): AnyObject {
  const { claims } = definition.hooks
  if (claims === undefined) return object
  const own = claimUid(object.metadata)
  const isTaken = (value: ClaimedValue): boolean => {
    const claim = reads.getOther(claimKey(claims, value))
    return claim !== null && claim.uid !== own
  }
  return claims.assign(object, current, { isTaken, random })
}

/** The parts of a `Draft` that its claims depend on. */
type Drafted = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly object: AnyObject
  readonly current: AnyObject | null
  readonly objectKind?: BodyKind
}

/**
 * Adds the claims of an object to the command that writes or removes it: values that it gets are
 * claimed, and values that it loses are released. Every command on an object is made of a plan that
 * passes here, so no path can leave a claim behind.
 *
 * @param object as it would be stored
 */
export function withClaims(evaluated: Evaluated, draft: Drafted, object: AnyObject, plan: Plan): Plan {
  const { claims } = evaluated.request.definition.hooks
  // The body of a subresource is not stored.
  if (claims === undefined || draft.objectKind !== undefined || plan.kind === 'answer') return plan
  const [first] = plan.operations
  if (first === undefined) return plan
  const { reads } = evaluated
  const stays = draft.operation === 'DELETE' ? draft.current : object
  const after = first.kind === 'delete' || stays === null ? [] : claims.valuesOf(stays)
  const before = draft.current === null ? [] : claims.valuesOf(draft.current)
  const uid = claimUid(draft.object.metadata)
  if (draft.operation === 'DELETE' && draft.current === null)
    return withExtraOperations(plan, releaseAll(claims, reads, uid))
  const kept = new Set(after.map((value) => claimKey(claims, value)))
  const held = new Set(before.map((value) => claimKey(claims, value)))
  const operations = [
    ...before.flatMap((value) => {
      const key = claimKey(claims, value)
      return kept.has(key) ? [] : release(reads, key, uid)
    }),
    ...after.flatMap((value) => {
      const key = claimKey(claims, value)
      const claim = reads.getOther(key)
      // Objects that an older version of this program stored may share a value: the claim is that
      // of the first.
      if (claim !== null && held.has(key)) return []
      // A claim that an older version of this program left may be released at any moment.
      if (claim?.uid === uid) return [claimOperation(key, object.metadata, [{ kind: 'uid-is', uid }])]
      return [claimOperation(key, object.metadata)]
    }),
  ]
  return withExtraOperations(plan, operations)
}

/**
 * Returns the uid of all claims of an object. It follows from the uid of the object, so that the
 * claims of an object that cannot be read are found. It differs from that uid, because the garbage
 * collector would take the deletion of a claim for that of the object.
 */
export function claimUid({ uid = '' }: Pick<ObjectMeta, 'uid'>): string {
  return `claim-${uid}`
}

/**
 * Returns the operation that claims a value for an object.
 *
 * @param conditions unset: the value must not be claimed
 */
export function claimOperation(
  key: Key,
  owner: ClaimOwner,
  conditions: readonly Condition[] = [{ kind: 'absent' }],
): Operation {
  const { name = '', namespace = '', creationTimestamp } = owner
  const metadata = {
    ...{ name: key.slice(key.lastIndexOf('/') + 1), uid: claimUid(owner) },
    ...(typeof creationTimestamp === 'string' ? { creationTimestamp } : {}),
  }
  const object = encode({ kind: 'Claim', apiVersion: 'internal/v1', metadata, owner: { namespace, name } })
  return { kind: 'put', key, conditions, object }
}

/** The metadata of an object that a claim depends on. */
export type ClaimOwner = Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'creationTimestamp'>

/** Returns the namespace and the name of the object that a stored claim was made for. */
export function ownerOfClaim(claim: Pick<StoredObject, 'bytes'>): {
  readonly namespace: string
  readonly name: string
} {
  const owner = objectMember(parsedJson(claim.bytes), 'owner')
  return { namespace: textMember(owner, 'namespace'), name: textMember(owner, 'name') }
}

function release(reads: ReadSet, key: Key, uid: string): readonly Operation[] {
  if (reads.getOther(key)?.uid !== uid) return []
  return [{ kind: 'delete', key, conditions: [{ kind: 'uid-is', uid }] }]
}

/** Releases the values of an object that cannot be read. */
function releaseAll(claims: ClaimRules, reads: ReadSet, uid: string): readonly Operation[] {
  const own = reads.listOther(claimsPrefix(claims)).filter((claim) => claim.uid === uid)
  return own.map(({ key }) => ({ kind: 'delete', key, conditions: [{ kind: 'uid-is', uid }] }))
}
