import { objectMember, objectsMember, textsMember } from '../../api/json.ts'
import { prefixOf } from '../../store/key.ts'
import type { KeyPrefix } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { parseStored } from '../kinds/encode.ts'
import { amountsIn } from './amounts.ts'
import type { Amounts } from './amounts.ts'
import type { PodScopes } from './pod-usage.ts'
import { appliesTo, scopeRequirementOf } from './scopes.ts'
import type { ScopeRequirement } from './scopes.ts'

/** One version of a ResourceQuota. */
export type Quota = {
  readonly stored: StoredObject
  readonly object: AnyObject
  readonly name: string
  /** `spec.hard`. */
  readonly wanted: Amounts
  /** `status.hard`: the limits in force. */
  readonly hard: Amounts
  readonly used: Amounts
  readonly scopes: readonly ScopeRequirement[]
}

/** Location of the quotas of a namespace. */
export function quotasPrefix(namespace: string): KeyPrefix {
  return prefixOf({ group: '', plural: 'resourcequotas', namespace })
}

/** Each version is parsed once; the entry lives as long as the version. */
const known = new WeakMap<StoredObject, Quota>()

export function quotaOf(stored: StoredObject): Quota {
  let quota = known.get(stored)
  if (quota === undefined) {
    quota = readQuota(stored)
    known.set(stored, quota)
  }
  return quota
}

function readQuota(stored: StoredObject): Quota {
  const object = parseStored(stored)
  const spec = objectMember(object, 'spec')
  const status = objectMember(object, 'status')
  const selector = objectMember(spec, 'scopeSelector')
  return {
    stored,
    object,
    name: object.metadata.name ?? '',
    wanted: amountsIn(objectMember(spec, 'hard')),
    hard: amountsIn(objectMember(status, 'hard')),
    used: amountsIn(objectMember(status, 'used')),
    scopes: [
      ...textsMember(spec, 'scopes').map((scope) => ({ scope, operator: 'Exists', values: [] })),
      ...objectsMember(selector, 'matchExpressions').map(scopeRequirementOf),
    ],
  }
}

/**
 * Whether all scopes of a quota apply to an object.
 *
 * @param scopes those of a Pod; null: an object of another kind
 */
export function inScope(quota: Pick<Quota, 'scopes'>, scopes: PodScopes | null): boolean {
  if (quota.scopes.length === 0) return true
  return scopes !== null && quota.scopes.every((requirement) => appliesTo(requirement, scopes))
}

/** Whether the limits in force are those of the spec: the controller has counted for them. */
export function isInForce({ wanted, hard, used }: Quota): boolean {
  if (wanted.size !== hard.size) return false
  return [...wanted].every(([name, { nanos }]) => hard.get(name)?.nanos === nanos && used.has(name))
}
