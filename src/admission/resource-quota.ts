import { forbidden } from '../api/errors/standard-errors.ts'
import { equalJson } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import type { Quantity } from '../api/schema/quantity.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { isStored, placeOf, resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { encode } from '../registry/kinds/encode.ts'
import { addAmounts, amountsJson, NO_AMOUNTS, spellAmounts } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import { unspecifiedResources } from '../registry/quota/pod-usage.ts'
import { inScope, isInForce, quotaOf, quotasPrefix } from '../registry/quota/quota.ts'
import type { Quota } from '../registry/quota/quota.ts'
import { appliesTo } from '../registry/quota/scopes.ts'
import { amountsAt, isMeasured, isPods, isResourceOf, isUncounted, usageOf } from '../registry/quota/usage.ts'
import type { ObjectUsage, Place } from '../registry/quota/usage.ts'
import type { Condition, Operation } from '../store/command.ts'
import type { KeyPrefix } from '../store/key.ts'
import type { AdmissionPlugin } from './chain.ts'
import { whyUncovered } from './limited-resources.ts'
import type { LimitedResource } from './limited-resources.ts'
import { policyAnnouncement, whileAnnounced, whileNoPolicy } from './policy-announcement.ts'
import { checkCapacityFor } from './policy-capacity.ts'

export type QuotaDependencies = {
  readonly names: Names
  /** Resources that are consumed only where a quota limits them. Unset: none. */
  readonly limited?: readonly LimitedResource[]
}

/**
 * Refuses objects that would exceed a quota of their namespace. The command that stores an object
 * also stores the new usage of each quota, if the quota is unchanged since and none was added: so
 * usage is exact, whichever members take writes. A quota takes effect once its controller has set
 * its status.
 *
 * @source upstream `plugin/pkg/admission/resourcequota`
 */
export function resourceQuotaAdmission(dependencies: QuotaDependencies): AdmissionPlugin {
  // One evaluation is validated and then planned, usually without another one in between.
  const rules = { names: dependencies.names, limited: dependencies.limited ?? [] }
  let last: { readonly request: AdmissionRequest; readonly decision: Decision } | null = null
  const decide = (request: AdmissionRequest): Decision => {
    if (last?.request !== request) last = { request, decision: decisionOf(rules, request) }
    return last.decision
  }
  return {
    name: 'ResourceQuota',
    validate: (request) => {
      checkCapacityFor(QUOTAS, request)
      decide(request)
    },
    extraOperations: (request) => [...decide(request).operations, ...policyAnnouncement(QUOTAS, request)],
    extraConditions: (request) => decide(request).conditions,
  }
}

const QUOTAS = { kind: 'ResourceQuota', plural: 'resourcequotas' } as const

type Decision = { readonly operations: readonly Operation[]; readonly conditions: readonly Condition[] }

const NOTHING: Decision = { operations: [], conditions: [] }

function whileUnlimited(prefix: KeyPrefix): Decision {
  return { operations: [], conditions: whileNoPolicy(prefix) }
}

type Rules = Required<QuotaDependencies>

/** @throws ApiError `Forbidden` */
function decisionOf({ names, limited }: Rules, request: AdmissionRequest): Decision {
  const { definition, target, operation, object, oldObject, reads } = request
  const { namespace, subresource } = target
  if (object === null || namespace === null || subresource !== null) return NOTHING
  if (operation !== 'CREATE' && operation !== 'UPDATE') return NOTHING
  const place = placeOf(definition)
  if (operation === 'UPDATE' && !isMeasured(place)) return NOTHING
  if (!isStored(definition) || isUncounted(place)) return NOTHING
  const prefix = quotasPrefix(namespace)
  const stored = reads.listOther(prefix)
  // Most namespaces have no quota: their creates need no usage.
  if (stored.length === 0 && oldObject === null && limited.length === 0) return whileUnlimited(prefix)
  const write: Write = {
    place,
    usage: usageOf(place, object, names),
    before: oldObject === null ? null : usageOf(place, oldObject, names),
    nowMs: parseTimeMs(request.context.writing.time) ?? 0,
  }
  const limits = stored.map((one) => limitOf(quotaOf(one), write, names))
  const refuse = refusalOf(request, object)
  if (operation === 'CREATE') {
    const unspecified = isPods(place) ? unspecifiedResources(object) : NONE
    for (const limit of limits) if (limit.isMatching) checkSpecified(limit, unspecified, refuse)
  }
  if (limited.length > 0) checkCovered(limited, { write, limits }, refuse)
  // There may be a quota that this member has not applied yet.
  if (stored.length === 0) return mayExceed(write) ? whileUnlimited(prefix) : NOTHING
  for (const limit of limits) checkHard(limit, refuse)
  return {
    operations: limits.filter(({ quota, more }) => more.size > 0 || !isInForce(quota)).map(usagePut),
    conditions: [
      ...whileAnnounced(namespace, reads),
      ...limits.filter((limit) => isAllowing(limit, limited)).map(whileUnchanged),
    ],
  }
}

/** The usage of a written object, and that of the object as stored. null: it is new. */
type Write = {
  readonly place: Place
  readonly usage: ObjectUsage
  readonly before: ObjectUsage | null
  readonly nowMs: number
}

/** A quota as it limits one write. */
type Limit = {
  readonly quota: Quota
  /** The limits in force for objects of the kind. */
  readonly hard: Amounts
  /** The usage that the write adds. */
  readonly more: Amounts
  /** Whether it limits the object at all. */
  readonly isMatching: boolean
  /** Those of its scopes that apply to the object. */
  readonly scopes: readonly string[]
}

function limitOf(quota: Quota, write: Write, names: Names): Limit {
  const { place, usage } = write
  const hard = new Map([...quota.hard].filter(([name]) => isResourceOf(place, name, names)))
  const pod = usage.scopes
  const scopes =
    pod === null ? [] : quota.scopes.filter((one) => appliesTo(one, pod)).map(({ scope }) => scope)
  const isMatching = hard.size > 0 && inScope(quota, pod)
  return { quota, hard, more: increase(quota, write, hard), isMatching, scopes }
}

/**
 * Returns whether a write could exceed a quota. An update could only if it raises the usage or
 * changes the scopes.
 */
function mayExceed({ usage, before, nowMs }: Write): boolean {
  if (before === null || !equalJson(usage.scopes, before.scopes)) return true
  return added({ usage, before, nowMs }).size > 0
}

/** Returns by how much a write raises the usage of its object. */
function added({ usage, before, nowMs }: Omit<Write, 'place'>): Amounts {
  const counted = before === null ? null : amountsAt(before, nowMs)
  const more = new Map<string, Quantity>()
  for (const [name, amount] of amountsAt(usage, nowMs)) {
    const nanos = amount.nanos - (counted?.get(name)?.nanos ?? 0n)
    if (nanos > 0n) more.set(name, { ...amount, nanos })
  }
  return more
}

/** Returns by how much a write raises the usage of a quota, for the resources that it limits. */
function increase(quota: Quota, { usage, before, nowMs }: Write, hard: Amounts): Amounts {
  if (!inScope(quota, usage.scopes)) return NO_AMOUNTS
  const counted = before !== null && inScope(quota, before.scopes) ? before : null
  return new Map([...added({ usage, before: counted, nowMs })].filter(([name]) => hard.has(name)))
}

type Refusal = (why: string) => never

function refusalOf({ definition, target }: AdmissionRequest, object: AnyObject): Refusal {
  return (why) => {
    throw forbidden(resourceOf(definition), object.metadata.name ?? target.name ?? '', why)
  }
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Refuses a new object that lacks amounts that the quota limits, and any new object while the usage
 * of a limited resource is not known.
 */
function checkSpecified({ quota, hard }: Limit, unspecified: ReadonlySet<string>, refuse: Refusal): void {
  const limited = [...hard.keys()].sort()
  const missing = limited.filter((one) => unspecified.has(one))
  if (missing.length > 0) refuse(`failed quota: ${quota.name}: must specify ${missing.join(',')}`)
  const unknown = limited.filter((one) => !quota.used.has(one))
  if (unknown.length === 0) return
  refuse(`status unknown for quota: ${quota.name}, resources: ${unknown.join(',')}`)
}

/** Refuses a write that consumes a limited resource or scope that no quota covers. */
function checkCovered(
  limited: readonly LimitedResource[],
  { write, limits }: { readonly write: Write; readonly limits: readonly Limit[] },
  refuse: Refusal,
): void {
  const matching = limits.filter(({ isMatching }) => isMatching)
  const why = whyUncovered(limited, {
    place: write.place,
    consumption: {
      amounts: added(write),
      scopes: write.usage.scopes,
      scopesBefore: write.before?.scopes ?? null,
    },
    coverage: {
      resources: new Set(matching.flatMap(({ hard }) => [...hard.keys()])),
      scopes: new Set(limits.flatMap(({ scopes }) => scopes)),
    },
  })
  if (why !== null) refuse(why)
}

/** Refuses a write beyond the limit. */
function checkHard({ quota, more }: Limit, refuse: Refusal): void {
  const { hard, used } = quota
  const exceeded = [...more.keys()].filter((name) => {
    const then = (used.get(name)?.nanos ?? 0n) + (more.get(name)?.nanos ?? 0n)
    return then > (hard.get(name)?.nanos ?? 0n)
  })
  if (exceeded.length === 0) return
  refuse(
    `exceeded quota: ${quota.name}, requested: ${spellAmounts(more, exceeded)}, ` +
      `used: ${spellAmounts(used, exceeded)}, limited: ${spellAmounts(hard, exceeded)}`,
  )
}

/**
 * Returns the operation that stores the new usage with the write. A quota that is not in force gets
 * a new revision even if its usage stays the same: if its controller has counted without the
 * object, the condition of its status update fails, and it counts again.
 */
function usagePut({ quota, more }: Limit): Operation {
  const { stored, object } = quota
  const { key, revision } = stored
  const used = new Map(quota.used)
  addAmounts(used, more)
  const status = { hard: amountsJson(quota.hard), used: amountsJson(used) }
  return {
    kind: 'put',
    key,
    conditions: [{ kind: 'revision-is', revision }],
    object: encode(more.size === 0 ? object : { ...object, status }),
  }
}

/**
 * Returns whether the object may be allowed only because of the scopes of a quota, although the
 * write does not raise its usage.
 */
function isAllowing({ quota, more, scopes }: Limit, limited: readonly LimitedResource[]): boolean {
  return more.size === 0 && isInForce(quota) && limited.length > 0 && scopes.length > 0
}

function whileUnchanged({ quota }: Limit): Condition {
  const { key, revision } = quota.stored
  return { kind: 'other-revision-is', key, revision }
}
