import { objectMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { formatQuantity } from '../api/schema/quantity.ts'
import type { Quantity } from '../api/schema/quantity.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { NO_AMOUNTS, amountsIn } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import { podResources, resourcesIn } from '../registry/quota/pod-usage.ts'
import type { LimitItem, LimitRange } from './limit-range.ts'
import { mainContainers } from './pods.ts'

/** Requests and limits of a container, of a Pod, or of a claim. */
type Resources = { readonly requests: Amounts; readonly limits: Amounts }

/** The requests and limits that the items of one type bound. */
type Subjects = { readonly type: string; readonly rules: readonly Rule[]; readonly of: readonly Resources[] }

type Rule = {
  readonly boundsOf: (item: LimitItem) => Amounts
  /** Whether an object within the first bound is always within the second one. */
  readonly isTighter: (a: Quantity, b: Quantity) => boolean
  /** Returns how requests and limits violate a bound; null: they do not. */
  readonly words: (type: string, name: string, bound: Quantity, of: Resources) => string | null
}

const isLess = (a: Quantity, b: Quantity): boolean => a.nanos < b.nanos
const minRule: Rule = { boundsOf: ({ min }) => min, isTighter: (a, b) => isLess(b, a), words: below }
const maxRule: Rule = { boundsOf: ({ max }) => max, isTighter: isLess, words: above }
const ratioRule: Rule = { boundsOf: (item) => item.ratio, isTighter: isLess, words: ratio }
const claimMaxRule: Rule = { boundsOf: ({ max }) => max, isTighter: isLess, words: aboveRequest }

/** Violations of one LimitRange that are reported. The search ends with the last of them. */
const VIOLATIONS_MAX = 64

/**
 * Returns how an object violates a LimitRange, in upstream's words. If it violates several, one
 * with the tightest bound is reported. Empty: it violates none.
 *
 * The object is compared with the tightest bounds of all of them, because thousands of LimitRanges
 * times hundreds of containers would block the thread for seconds.
 *
 * @source upstream `plugin/pkg/admission/limitranger/admission.go`
 */
export function violationsOf(
  plural: string,
  object: AnyObject,
  ranges: readonly LimitRange[],
): readonly string[] {
  const subjects = subjectsOf(plural, objectMember(object, 'spec'))
  const violated = subjects.map((one) => violatedRange(one, ranges)).find((range) => range !== null)
  if (violated === undefined || violated === null) return []
  const found: string[] = []
  for (const words of eachViolation(subjects, violated)) {
    found.push(words)
    if (found.length === VIOLATIONS_MAX) break
  }
  return found
}

function subjectsOf(plural: string, spec: JsonObject): readonly Subjects[] {
  if (plural === 'persistentvolumeclaims') {
    const requests = amountsIn(objectMember(objectMember(spec, 'resources'), 'requests'))
    const of = [{ requests, limits: NO_AMOUNTS }]
    return [{ type: 'PersistentVolumeClaim', rules: [minRule, claimMaxRule], of }]
  }
  const containers = mainContainers(spec).map((container) => ({
    requests: resourcesIn(container, 'requests'),
    limits: resourcesIn(container, 'limits'),
  }))
  const rules = [minRule, maxRule, ratioRule]
  return [
    { type: 'Container', rules, of: containers },
    // As upstream, without the overhead of the Pod.
    { type: 'Pod', rules, of: [podResources({ ...spec, overhead: {} })] },
  ]
}

function violatedRange({ type, rules, of }: Subjects, ranges: readonly LimitRange[]): LimitRange | null {
  for (const rule of rules) {
    for (const [name, { bound, range }] of tightestBounds(type, rule, ranges)) {
      if (of.some((resources) => rule.words(type, name, bound, resources) !== null)) return range
    }
  }
  return null
}

type TightestBound = { readonly bound: Quantity; readonly range: LimitRange }

/** Returns the tightest bound for each resource, and the first LimitRange that has it. */
function tightestBounds(
  type: string,
  rule: Rule,
  ranges: readonly LimitRange[],
): ReadonlyMap<string, TightestBound> {
  const tightest = new Map<string, TightestBound>()
  for (const range of ranges) {
    for (const item of range.items) {
      if (item.type !== type) continue
      for (const [name, bound] of rule.boundsOf(item)) {
        const known = tightest.get(name)
        if (known === undefined || rule.isTighter(bound, known.bound)) tightest.set(name, { bound, range })
      }
    }
  }
  return tightest
}

/**
 * A generator, because all containers may violate all items, and a list of that might not fit into
 * memory.
 */
function* eachViolation(subjects: readonly Subjects[], { items }: LimitRange): Generator<string, void> {
  for (const item of items) {
    for (const { type, rules, of } of subjects) {
      if (type !== item.type) continue
      for (const resources of of) {
        for (const { boundsOf, words } of rules) {
          for (const [name, bound] of boundsOf(item)) {
            const found = words(type, name, bound, resources)
            if (found !== null) yield found
          }
        }
      }
    }
  }
}

function below(type: string, name: string, bound: Quantity, of: Resources): string | null {
  const [request, limit] = [of.requests.get(name), of.limits.get(name)]
  const words = (): string => `minimum ${name} usage per ${type} is ${formatQuantity(bound)}`
  if (request === undefined) return `${words()}.  No request is specified`
  if (isLess(request, bound)) return `${words()}, but request is ${formatQuantity(request)}`
  if (limit !== undefined && isLess(limit, bound)) return `${words()}, but limit is ${formatQuantity(limit)}`
  return null
}

function above(type: string, name: string, bound: Quantity, of: Resources): string | null {
  const [request, limit] = [of.requests.get(name), of.limits.get(name)]
  const words = (): string => `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`
  if (limit === undefined) return `${words()}.  No limit is specified`
  if (isLess(bound, limit)) return `${words()}, but limit is ${formatQuantity(limit)}`
  if (request !== undefined && isLess(bound, request))
    return `${words()}, but request is ${formatQuantity(request)}`
  return null
}

/** The rule `max` of claims, which have no limits. */
function aboveRequest(type: string, name: string, bound: Quantity, of: Resources): string | null {
  const request = of.requests.get(name)
  const words = (): string => `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`
  if (request === undefined) return `${words()}.  No request is specified`
  return isLess(bound, request) ? `${words()}, but request is ${formatQuantity(request)}` : null
}

function ratio(type: string, name: string, bound: Quantity, of: Resources): string | null {
  const [request, limit] = [of.requests.get(name), of.limits.get(name)]
  const words = (): string => `${name} max limit to request ratio per ${type} is ${formatQuantity(bound)}`
  if (request === undefined || request.nanos === 0n)
    return `${words()}, but no request is specified or request is 0`
  if (limit === undefined || limit.nanos === 0n) return `${words()}, but no limit is specified or limit is 0`
  if (limit.nanos * 10n ** 9n <= bound.nanos * request.nanos) return null
  return `${words()}, but provided ratio is ${(Number(limit.nanos) / Number(request.nanos)).toFixed(6)}`
}
