import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { parseTimeMs } from '../../api/metadata/time.ts'
import type { Quantity } from '../../api/schema/quantity.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { addAmounts, amountsIn, maxAmounts, ONE } from './amounts.ts'
import type { Amounts } from './amounts.ts'

/** The usage of a Pod, and its scopes. */
export type PodUsage = {
  readonly amounts: Amounts
  readonly scopes: PodScopes
  /**
   * Wall-clock ms after which only the object count remains; null: everything counts while the Pod
   * exists.
   */
  readonly countedUntilMs: number | null
}

export type PodScopes = {
  readonly terminating: boolean
  readonly bestEffort: boolean
  readonly priorityClass: string
  readonly crossNamespaceAffinity: boolean
}

/** The resource that counts Pods in any state. */
export const POD_OBJECT_COUNT = 'count/pods'

/** @source upstream `pkg/quota/v1/evaluator/core/pods.go`, PodUsageFunc */
export function podUsage(pod: AnyObject): PodUsage {
  const spec = objectMember(pod, 'spec')
  const amounts = new Map<string, Quantity>([[POD_OBJECT_COUNT, ONE]])
  if (!hasEnded(pod)) {
    const { requests, limits } = podResources(spec)
    amounts.set('pods', ONE)
    addAmounts(amounts, countedResources(requests, limits))
  }
  return { amounts, scopes: scopesOf(spec), countedUntilMs: countedUntilMs(pod) }
}

/**
 * Returns the requests and limits of a Pod: of each resource the sum over its containers, or the
 * largest of its init containers if that is more, plus the overhead.
 */
export function podResources(spec: JsonObject): { readonly requests: Amounts; readonly limits: Amounts } {
  const requests = new Map<string, Quantity>()
  const limits = new Map<string, Quantity>()
  for (const container of objectsMember(spec, 'containers')) {
    addAmounts(requests, resourcesIn(container, 'requests'))
    addAmounts(limits, resourcesIn(container, 'limits'))
  }
  for (const container of objectsMember(spec, 'initContainers')) {
    maxAmounts(requests, resourcesIn(container, 'requests'))
    maxAmounts(limits, resourcesIn(container, 'limits'))
  }
  const overhead = amountsIn(objectMember(spec, 'overhead'))
  addAmounts(requests, overhead)
  addAmounts(limits, overhead)
  return { requests, limits }
}

/** @param member `requests` or `limits` */
export function resourcesIn(container: JsonObject, member: string): Amounts {
  return amountsIn(objectMember(objectMember(container, 'resources'), member))
}

const COMPUTE: readonly string[] = ['cpu', 'memory', 'ephemeral-storage']

/** Returns requests and limits under the names that quotas have for them. */
function countedResources(requests: Amounts, limits: Amounts): Amounts {
  const counted = new Map<string, Quantity>()
  for (const [name, amount] of requests) {
    const isPlain = COMPUTE.includes(name) || name.startsWith('hugepages-')
    if (isPlain) counted.set(name, amount)
    if (isPlain || name.includes('/')) counted.set(`requests.${name}`, amount)
  }
  for (const [name, amount] of limits) if (COMPUTE.includes(name)) counted.set(`limits.${name}`, amount)
  return counted
}

/** Resources that each container must specify if a quota limits them. */
const REQUIRED: readonly string[] = [
  ...['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'],
]

/** Returns the required resources that at least one container of the Pod does not specify. */
export function unspecifiedResources(pod: AnyObject): ReadonlySet<string> {
  const unspecified = new Set<string>()
  const spec = objectMember(pod, 'spec')
  for (const one of [...objectsMember(spec, 'containers'), ...objectsMember(spec, 'initContainers')]) {
    const amounts = countedResources(resourcesIn(one, 'requests'), resourcesIn(one, 'limits'))
    for (const name of REQUIRED) if (!amounts.has(name)) unspecified.add(name)
  }
  return unspecified
}

/** Whether quotas limit the resource for Pods. */
export function isPodResource(name: string): boolean {
  if (name === 'pods' || name === POD_OBJECT_COUNT || COMPUTE.includes(name)) return true
  if (name.startsWith('hugepages-')) return true
  if (name.startsWith('limits.')) return COMPUTE.includes(name.slice('limits.'.length))
  if (!name.startsWith('requests.')) return false
  const rest = name.slice('requests.'.length)
  return COMPUTE.includes(rest) || rest.startsWith('hugepages-') || rest.includes('/')
}

function hasEnded(pod: AnyObject): boolean {
  const phase = textMember(objectMember(pod, 'status'), 'phase')
  return phase === 'Failed' || phase === 'Succeeded'
}

/** A Pod that a lost node keeps after its grace period does not prevent its replacement. */
function countedUntilMs({ metadata }: AnyObject): number | null {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (typeof deletionTimestamp !== 'string' || deletionGracePeriodSeconds === undefined) return null
  const deletedMs = parseTimeMs(deletionTimestamp)
  return deletedMs === null ? null : deletedMs + Number(deletionGracePeriodSeconds) * 1000
}

function scopesOf(spec: JsonObject): PodScopes {
  const deadline = numberMember(spec, 'activeDeadlineSeconds')
  return {
    terminating: deadline !== null && deadline >= 0,
    bestEffort: isBestEffort(spec),
    priorityClass: textMember(spec, 'priorityClassName'),
    crossNamespaceAffinity: usesOtherNamespaces(spec),
  }
}

function isBestEffort(spec: JsonObject): boolean {
  const containers = [...objectsMember(spec, 'containers'), ...objectsMember(spec, 'initContainers')]
  const isSet = (amounts: Amounts): boolean =>
    (amounts.get('cpu')?.nanos ?? 0n) > 0n || (amounts.get('memory')?.nanos ?? 0n) > 0n
  return !containers.some((one) => isSet(resourcesIn(one, 'requests')) || isSet(resourcesIn(one, 'limits')))
}

function usesOtherNamespaces(spec: JsonObject): boolean {
  const affinity = objectMember(spec, 'affinity')
  return ['podAffinity', 'podAntiAffinity'].some((kind) => {
    const rules = objectMember(affinity, kind)
    const preferred = objectsMember(rules, 'preferredDuringSchedulingIgnoredDuringExecution')
    const terms = [
      ...objectsMember(rules, 'requiredDuringSchedulingIgnoredDuringExecution'),
      ...preferred.map((one) => objectMember(one, 'podAffinityTerm')),
    ]
    return terms.some(
      (term) =>
        memberOf(term, 'namespaces') !== undefined || memberOf(term, 'namespaceSelector') !== undefined,
    )
  })
}
