import { forbidden } from '../api/errors/standard-errors.ts'
import { equalJson } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import type { Quantity } from '../api/schema/quantity.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { isStored, placeOf, resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { encode, parseStored } from '../registry/kinds/encode.ts'
import { addAmounts, amountsJson, spellAmounts } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import { unspecifiedResources } from '../registry/quota/pod-usage.ts'
import { inScope, isInForce, quotaOf, quotasPrefix } from '../registry/quota/quota.ts'
import type { Quota } from '../registry/quota/quota.ts'
import { amountsAt, isMeasured, isPods, isResourceOf, isUncounted, usageOf } from '../registry/quota/usage.ts'
import type { ObjectUsage } from '../registry/quota/usage.ts'
import type { Condition, Operation } from '../store/command.ts'
import type { ReadSet } from '../registry/shared/read-set.ts'
import { keyOf } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { AdmissionPlugin } from './chain.ts'
import { checkRoomFor } from './policy-room.ts'

/**
 * Refuses objects that would exceed a quota of their namespace. The command that stores an object
 * also stores the new usage of each quota, if the quota is unchanged since and none was added: so
 * usage is exact, whichever members take writes. A quota counts from when its controller has set
 * its status.
 *
 * @source upstream `plugin/pkg/admission/resourcequota`
 */
export function resourceQuotaAdmission({ names }: { readonly names: Names }): AdmissionPlugin {
  // One evaluation is validated and then planned, usually without another one in between.
  let last: { readonly request: AdmissionRequest; readonly decision: Decision } | null = null
  const decide = (request: AdmissionRequest): Decision => {
    if (last?.request !== request) last = { request, decision: decisionOf(names, request) }
    return last.decision
  }
  return {
    name: 'ResourceQuota',
    validate: (request) => {
      checkRoomFor(QUOTAS, request)
      decide(request)
    },
    extraOperations: (request) => [...decide(request).operations, ...announcement(request)],
    extraConditions: (request) => decide(request).conditions,
  }
}

/**
 * Returns the operation that a new quota, or one with another spec, carries in addition: the
 * namespace is written as it is, so that it has another revision. A member that has not applied the
 * quota yet does not know that revision either, and loses its creates on that condition. The first
 * quota of a namespace needs none: creates before it carry the condition that there is no quota.
 */
function announcement(request: AdmissionRequest): readonly Operation[] {
  const { definition, target, operation, object, oldObject, reads } = request
  const { namespace, subresource } = target
  if (definition.group !== '' || definition.plural !== 'resourcequotas') return []
  if (object === null || namespace === null || subresource !== null) return []
  const isNew = operation === 'CREATE' && reads.listOther(quotasPrefix(namespace)).length > 0
  const isChanged =
    operation === 'UPDATE' && oldObject !== null && !equalJson(object['spec'] ?? {}, oldObject['spec'] ?? {})
  if (!isNew && !isChanged) return []
  const stored = reads.getOther(namespaceKey(namespace))
  if (stored === null) return []
  const { key, revision } = stored
  const conditions: readonly Condition[] = [{ kind: 'revision-is', revision }]
  return [{ kind: 'put', key, conditions, object: encode(parseStored(stored)) }]
}

function namespaceKey(name: string): Key {
  return keyOf({ group: '', plural: 'namespaces', namespace: '', name })
}

const QUOTAS = { kind: 'ResourceQuota', plural: 'resourcequotas' } as const

type Decision = { readonly operations: readonly Operation[]; readonly conditions: readonly Condition[] }

const NOTHING: Decision = { operations: [], conditions: [] }

function whileUnlimited(prefix: KeyPrefix): Decision {
  return { operations: [], conditions: [{ kind: 'prefix-empty', prefixes: [prefix] }] }
}

/**
 * Returns the condition that no quota was added or changed that this member has not applied yet.
 */
function whileAnnounced(namespace: string, reads: ReadSet): readonly Condition[] {
  const stored = reads.getOther(namespaceKey(namespace))
  if (stored === null) return []
  return [{ kind: 'other-revision-is', key: stored.key, revision: stored.revision }]
}

/** @throws ApiError `Forbidden` */
function decisionOf(names: Names, request: AdmissionRequest): Decision {
  const { definition, target, operation, object, oldObject, reads } = request
  const { namespace, subresource } = target
  if (object === null || namespace === null || subresource !== null) return NOTHING
  if (operation !== 'CREATE' && operation !== 'UPDATE') return NOTHING
  const place = placeOf(definition)
  if (operation === 'UPDATE' && !isMeasured(place)) return NOTHING
  if (!isStored(definition) || isUncounted(place)) return NOTHING
  const prefix = quotasPrefix(namespace)
  const quotas = reads.listOther(prefix)
  // Most namespaces have no quota: their creates need no usage.
  if (quotas.length === 0 && oldObject === null) return whileUnlimited(prefix)
  const usage = usageOf(place, object, names)
  const nowMs = parseTimeMs(request.context.writing.time) ?? 0
  const before = oldObject === null ? null : usageOf(place, oldObject, names)
  // There may be a quota that this member has not applied yet.
  if (quotas.length === 0) return mayExceed(usage, before, nowMs) ? whileUnlimited(prefix) : NOTHING
  const conditions: Condition[] = [...whileAnnounced(namespace, reads)]
  const operations: Operation[] = []
  const unspecified = isPods(place) && operation === 'CREATE' ? unspecifiedResources(object) : NONE
  for (const quota of quotas.map(quotaOf)) {
    const hard = new Map([...quota.hard].filter(([name]) => isResourceOf(place, name, names)))
    const more = increase(quota, { usage, before, nowMs }, hard)
    if (operation === 'CREATE' && hard.size > 0 && inScope(quota, usage.scopes)) {
      checkSpecified(quota, { hard, unspecified }, (why) => refuse(request, object, why))
    }
    if (more.size > 0) {
      checkHard(request, quota, more)
      operations.push(usagePut(quota, more))
    } else if (!isInForce(quota)) {
      // Its controller counts now: what it does not see must not be stored after it.
      const { key, revision } = quota.stored
      conditions.push({ kind: 'other-revision-is', key, revision })
    }
  }
  return { operations, conditions }
}

/** Whether there can be a quota that a write exceeds: of an update, only if it raises the usage. */
function mayExceed(usage: ObjectUsage, before: ObjectUsage | null, nowMs: number): boolean {
  if (before === null || !equalJson(usage.scopes, before.scopes)) return true
  const counted = amountsAt(before, nowMs)
  return [...amountsAt(usage, nowMs)].some(([name, { nanos }]) => nanos > (counted.get(name)?.nanos ?? 0n))
}

/** Returns by how much a write raises the usage of a quota, for the resources that it limits. */
function increase(
  quota: Quota,
  of: { readonly usage: ObjectUsage; readonly before: ObjectUsage | null; readonly nowMs: number },
  hard: Amounts,
): Amounts {
  const more = new Map<string, Quantity>()
  if (!inScope(quota, of.usage.scopes)) return more
  const counted =
    of.before !== null && inScope(quota, of.before.scopes) ? amountsAt(of.before, of.nowMs) : null
  for (const [name, amount] of amountsAt(of.usage, of.nowMs)) {
    if (!hard.has(name)) continue
    const nanos = amount.nanos - (counted?.get(name)?.nanos ?? 0n)
    if (nanos > 0n) more.set(name, { ...amount, nanos })
  }
  return more
}

function refuse({ definition, target }: AdmissionRequest, object: AnyObject, why: string): never {
  throw forbidden(resourceOf(definition), object.metadata.name ?? target.name ?? '', why)
}

const NONE: ReadonlySet<string> = new Set()

/** Refuses a new object that lacks amounts that the quota limits. */
function checkSpecified(
  { name, used }: Quota,
  of: { readonly hard: Amounts; readonly unspecified: ReadonlySet<string> },
  refuse: (why: string) => never,
): void {
  const limited = [...of.hard.keys()].sort()
  const missing = limited.filter((one) => of.unspecified.has(one))
  if (missing.length > 0) refuse(`failed quota: ${name}: must specify ${missing.join(',')}`)
  const unknown = limited.filter((one) => !used.has(one))
  if (unknown.length > 0) refuse(`status unknown for quota: ${name}, resources: ${unknown.join(',')}`)
}

/** @throws ApiError `Forbidden`: the limit is exceeded */
function checkHard(request: AdmissionRequest, quota: Quota, more: Amounts): void {
  const { hard, used } = quota
  const exceeded = [...more.keys()].filter((name) => {
    const then = (used.get(name)?.nanos ?? 0n) + (more.get(name)?.nanos ?? 0n)
    return then > (hard.get(name)?.nanos ?? 0n)
  })
  if (exceeded.length === 0 || request.object === null) return
  const why =
    `exceeded quota: ${quota.name}, requested: ${spellAmounts(more, exceeded)}, ` +
    `used: ${spellAmounts(used, exceeded)}, limited: ${spellAmounts(hard, exceeded)}`
  refuse(request, request.object, why)
}

function usagePut(quota: Quota, more: Amounts): Operation {
  const { stored, object } = quota
  const { key, revision } = stored
  const used = new Map(quota.used)
  addAmounts(used, more)
  const status = { hard: amountsJson(quota.hard), used: amountsJson(used) }
  return {
    kind: 'put',
    key,
    conditions: [{ kind: 'revision-is', revision }],
    object: encode({ ...object, status }),
  }
}
