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
  const spec = objectMember(object, 'spec')
  return items.flatMap((item) => {
    const type = textMember(item, 'type')
    if (plural === 'persistentvolumeclaims')
      return type === 'PersistentVolumeClaim' ? claimViolations(item, spec) : []
    if (type === 'Container') {
      return mainContainers(spec).flatMap((container) =>
        violations(item, type, {
          requests: resourcesIn(container, 'requests'),
          limits: resourcesIn(container, 'limits'),
        }),
      )
    }
    return type === 'Pod' ? violations(item, type, podSums(spec)) : []
  })
}

/** As upstream, without the overhead of the Pod. */
function podSums(spec: JsonObject): Resources {
  return podResources({ ...spec, overhead: {} })
}

function violations(item: JsonObject, type: string, of: Resources): readonly string[] {
  const each = (member: string, rule: (name: string, bound: Quantity) => string | null): readonly string[] =>
    [...amountsIn(objectMember(item, member))].flatMap(([name, bound]) => rule(name, bound) ?? [])
  return [
    ...each('min', (name, bound) => below(type, name, bound, of)),
    ...each('max', (name, bound) => above(type, name, bound, of)),
    ...each('maxLimitRequestRatio', (name, bound) => ratio(type, name, bound, of)),
  ]
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
