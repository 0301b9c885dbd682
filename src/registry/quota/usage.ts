import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Quantity } from '../../api/schema/quantity.ts'
import { parseQuantity } from '../../api/schema/quantity.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { ONE } from './amounts.ts'
import type { Amounts } from './amounts.ts'
import { isPodResource, POD_OBJECT_COUNT, podUsage } from './pod-usage.ts'
import type { PodScopes } from './pod-usage.ts'

/** Location of the objects of a kind. */
export type Place = { readonly group: string; readonly plural: string }

/** The usage of one object. */
export type ObjectUsage = {
  readonly amounts: Amounts
  /** null: not a Pod. */
  readonly scopes: PodScopes | null
  /** As in `PodUsage`. */
  readonly countedUntilMs: number | null
}

/** Kinds of the core group whose plural alone is a resource of quotas, besides Pods. */
const COUNTED_BY_PLURAL: ReadonlySet<string> = new Set([
  ...['resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  'persistentvolumeclaims',
])

/** Whether no quota counts the objects of a kind: as upstream, that is so for Events. */
export function isUncounted({ group, plural }: Place): boolean {
  return group === '' && plural === 'events'
}

/** Returns `count/leases.coordination.orch.io`, for example. */
export function countName({ group, plural }: Place): string {
  return `count/${plural}${group === '' ? '' : `.${group}`}`
}

/** Returns the kind whose objects a resource counts; null: it counts none, or it is `pods`. */
export function countedPlace(name: string): Place | null {
  if (COUNTED_BY_PLURAL.has(name)) return { group: '', plural: name }
  if (!name.startsWith('count/')) return null
  const [plural = '', ...group] = name.slice('count/'.length).split('.')
  return { group: group.join('.'), plural }
}

/** Whether quotas limit a resource for objects of the kind. */
export function isResourceOf(place: Place, name: string, names: Names): boolean {
  if (isPods(place)) return isPodResource(name)
  if (isClaims(place) && (name === STORAGE || name.includes(classSuffix(names)))) return true
  if (isServices(place) && (name === LOAD_BALANCERS || name === NODE_PORTS)) return true
  const counted = countedPlace(name)
  return counted !== null && counted.group === place.group && counted.plural === place.plural
}

export function isPods({ group, plural }: Place): boolean {
  return group === '' && plural === 'pods'
}

function isClaims({ group, plural }: Place): boolean {
  return group === '' && plural === 'persistentvolumeclaims'
}

function isServices({ group, plural }: Place): boolean {
  return group === '' && plural === 'services'
}

/**
 * Kinds of which quotas count more than the number of objects, so that an update may raise the
 * usage.
 */
export const MEASURED: readonly Place[] = [
  { group: '', plural: 'pods' },
  { group: '', plural: 'persistentvolumeclaims' },
  { group: '', plural: 'services' },
]

export function isMeasured(place: Place): boolean {
  return isPods(place) || isClaims(place) || isServices(place)
}

export function usageOf(place: Place, object: AnyObject, names: Names): ObjectUsage {
  if (isPods(place)) return podUsage(object)
  const amounts = new Map<string, Quantity>([[countName(place), ONE]])
  if (place.group === '' && COUNTED_BY_PLURAL.has(place.plural)) amounts.set(place.plural, ONE)
  if (isClaims(place)) addStorage(amounts, object, names)
  if (isServices(place)) addPorts(amounts, object)
  return { amounts, scopes: null, countedUntilMs: null }
}

/** Returns the amounts that count at the given time. */
export function amountsAt({ amounts, countedUntilMs }: ObjectUsage, nowMs: number): Amounts {
  if (countedUntilMs === null || nowMs <= countedUntilMs) return amounts
  return new Map([[POD_OBJECT_COUNT, ONE]])
}

const STORAGE = 'requests.storage'

/** Returns what follows the name of a storage class in the names of its resources. */
function classSuffix(names: Names): string {
  return `.storageclass.${names.group('storage')}/`
}

/** @source upstream `pkg/quota/v1/evaluator/core/persistent_volume_claims.go` */
function addStorage(amounts: Map<string, Quantity>, claim: AnyObject, names: Names): void {
  const spec = objectMember(claim, 'spec')
  const requests = objectMember(objectMember(spec, 'resources'), 'requests')
  const annotation = claim.metadata.annotations?.[names.labelUnder('volume.beta', 'storage-class')]
  const className = annotation ?? textMember(spec, 'storageClassName')
  const amount = parseQuantity(textMember(requests, 'storage'))
  if (amount !== null) amounts.set(STORAGE, amount)
  if (className === '') return
  const ofClass = `${className}${classSuffix(names)}`
  amounts.set(`${ofClass}persistentvolumeclaims`, ONE)
  if (amount !== null) amounts.set(`${ofClass}${STORAGE}`, amount)
}

const LOAD_BALANCERS = 'services.loadbalancers'
const NODE_PORTS = 'services.nodeports'

/**
 * Counts the node ports that the spec of a Service requests. As upstream, which counts them before
 * it allocates them, a port counts even if it has no number yet, unless the Service disables the
 * allocation.
 *
 * @source upstream `pkg/quota/v1/evaluator/core/services.go`
 */
function addPorts(amounts: Map<string, Quantity>, service: AnyObject): void {
  const spec = objectMember(service, 'spec')
  const type = textMember(spec, 'type')
  if (type !== 'LoadBalancer' && type !== 'NodePort') return
  const isLoadBalancer = type === 'LoadBalancer'
  if (isLoadBalancer) amounts.set(LOAD_BALANCERS, ONE)
  const isStated = isLoadBalancer && memberOf(spec, 'allocateLoadBalancerNodePorts') === false
  const ports = objectsMember(spec, 'ports').filter(
    (port) => !isStated || (numberMember(port, 'nodePort') ?? 0) !== 0,
  )
  amounts.set(NODE_PORTS, { nanos: BigInt(ports.length) * ONE.nanos, format: 'decimal' })
}
