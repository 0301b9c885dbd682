import { objectMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { formatQuantity } from '../api/schema/quantity.ts'
import type { Quantity } from '../api/schema/quantity.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { amountsIn } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import { podResources, resourcesIn } from '../registry/quota/pod-usage.ts'
import { mainContainers } from './pods.ts'

/** Requests and limits of a container, of a Pod, or of a claim. */
type Resources = { readonly requests: Amounts; readonly limits: Amounts }

/** Violations that are reported of one LimitRange; the others are not looked for. */
const VIOLATIONS_MAX = 64

/**
 * Returns how an object violates the items of a LimitRange, in upstream's words.
 *
 * @source upstream `plugin/pkg/admission/limitranger/admission.go`
 */
export function violationsOf(
  plural: string,
  object: AnyObject,
  items: readonly JsonObject[],
): readonly string[] {
  const found: string[] = []
  for (const words of eachViolation(plural, objectMember(object, 'spec'), items)) {
    found.push(words)
    if (found.length === VIOLATIONS_MAX) break
  }
  return found
}

/** A generator, because all containers may violate all items: that is more than memory holds. */
function* eachViolation(
  plural: string,
  spec: JsonObject,
  items: readonly JsonObject[],
): Generator<string, void> {
  for (const item of items) {
    const type = textMember(item, 'type')
    if (plural === 'persistentvolumeclaims') {
      if (type === 'PersistentVolumeClaim') yield* claimViolations(item, spec)
    } else if (type === 'Container') {
      const bounds = boundsOf(item)
      for (const container of mainContainers(spec)) {
        const of = {
          requests: resourcesIn(container, 'requests'),
          limits: resourcesIn(container, 'limits'),
        }
        yield* violations(bounds, type, of)
      }
    } else if (type === 'Pod') yield* violations(boundsOf(item), type, podSums(spec))
  }
}

/** As upstream, without the overhead of the Pod. */
function podSums(spec: JsonObject): Resources {
  return podResources({ ...spec, overhead: {} })
}

type Bounds = { readonly min: Amounts; readonly max: Amounts; readonly ratio: Amounts }

function boundsOf(item: JsonObject): Bounds {
  const of = (member: string): Amounts => amountsIn(objectMember(item, member))
  return { min: of('min'), max: of('max'), ratio: of('maxLimitRequestRatio') }
}

function* violations(bounds: Bounds, type: string, of: Resources): Generator<string, void> {
  for (const [amounts, rule] of [
    [bounds.min, below],
    [bounds.max, above],
    [bounds.ratio, ratio],
  ] as const) {
    for (const [name, bound] of amounts) {
      const words = rule(type, name, bound, of)
      if (words !== null) yield words
    }
  }
}

function claimViolations(item: JsonObject, spec: JsonObject): readonly string[] {
  const type = 'PersistentVolumeClaim'
  const requests = amountsIn(objectMember(objectMember(spec, 'resources'), 'requests'))
  const of = { requests, limits: new Map<string, Quantity>() }
  const mins = [...amountsIn(objectMember(item, 'min'))]
  const maxes = [...amountsIn(objectMember(item, 'max'))]
  return [
    ...mins.flatMap(([name, bound]) => below(type, name, bound, of) ?? []),
    ...maxes.flatMap(([name, bound]) => {
      const request = requests.get(name)
      const words = `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`
      if (request === undefined) return [`${words}.  No request is specified`]
      return request.nanos > bound.nanos ? [`${words}, but request is ${formatQuantity(request)}`] : []
    }),
  ]
}

function below(type: string, name: string, bound: Quantity, of: Resources): string | null {
  const [request, limit] = [of.requests.get(name), of.limits.get(name)]
  const words = `minimum ${name} usage per ${type} is ${formatQuantity(bound)}`
  if (request === undefined) return `${words}.  No request is specified`
  if (request.nanos < bound.nanos) return `${words}, but request is ${formatQuantity(request)}`
  if (limit !== undefined && limit.nanos < bound.nanos)
    return `${words}, but limit is ${formatQuantity(limit)}`
  return null
}

function above(type: string, name: string, bound: Quantity, of: Resources): string | null {
  const [request, limit] = [of.requests.get(name), of.limits.get(name)]
  const words = `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`
  if (limit === undefined) return `${words}.  No limit is specified`
  if (limit.nanos > bound.nanos) return `${words}, but limit is ${formatQuantity(limit)}`
  if (request !== undefined && request.nanos > bound.nanos)
    return `${words}, but request is ${formatQuantity(request)}`
  return null
}

function ratio(type: string, name: string, bound: Quantity, of: Resources): string | null {
  const [request, limit] = [of.requests.get(name), of.limits.get(name)]
  const words = `${name} max limit to request ratio per ${type} is ${formatQuantity(bound)}`
  if (request === undefined || request.nanos === 0n)
    return `${words}, but no request is specified or request is 0`
  if (limit === undefined || limit.nanos === 0n) return `${words}, but no limit is specified or limit is 0`
  if (limit.nanos * 10n ** 9n <= bound.nanos * request.nanos) return null
  return `${words}, but provided ratio is ${(Number(limit.nanos) / Number(request.nanos)).toFixed(6)}`
}
