import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, textMember } from '../../api/json.ts'
import { checkPathSegment } from '../../api/metadata/name-rules.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { parseQuantity } from '../../api/schema/quantity.ts'

/** @source upstream `pkg/apis/autoscaling/validation` */

/** The member of a metric that its type selects. */
export const metricMembers = {
  ...{ ContainerResource: 'containerResource', External: 'external', Object: 'object' },
  ...{ Pods: 'pods', Resource: 'resource' },
} as const

/** Returns the member that belongs to the type of a metric. @returns null: no such type */
export function memberOfType(metric: JsonObject): string | null {
  const type = textMember(metric, 'type')
  return Object.hasOwn(metricMembers, type) ? metricMembers[type as keyof typeof metricMembers] : null
}

export function checkMetric(metric: JsonObject, at: Path | null, found: Findings): void {
  const type = textMember(metric, 'type')
  if (type === '') found.add(required(fieldAt(at, 'type'), 'must specify a metric source type'))
  const expected = memberOfType(metric)
  if (expected === null) found.add(notSupported(fieldAt(at, 'type'), type, Object.keys(metricMembers)))
  const present = Object.values(metricMembers).filter((name) => Object.hasOwn(metric, name))
  if (expected !== null && !present.includes(expected)) {
    const words = 'must populate information for the given metric source'
    found.add(required(fieldAt(at, expected), words))
  }
  if (present.length === 1) return
  for (const name of present.filter((name) => name !== expected))
    found.add(fieldForbidden(fieldAt(at, name), 'must populate the given metric source only'))
}

export function checkMetricName(metric: JsonObject, at: Path | null, found: Findings): void {
  const name = textMember(metric, 'name')
  if (name === '') found.add(required(fieldAt(at, 'name'), 'must specify a metric name'))
  else for (const wrong of checkPathSegment(name)) found.add(invalid(fieldAt(at, 'name'), name, wrong))
}

export function checkTarget(target: JsonObject, at: Path | null, found: Findings): void {
  const type = textMember(target, 'type')
  if (type === '') found.add(required(fieldAt(at, 'type'), 'must specify a metric target type'))
  if (!['Utilization', 'Value', 'AverageValue'].includes(type))
    found.add(invalid(fieldAt(at, 'type'), type, 'must be either Utilization, Value, or AverageValue'))
  for (const name of ['value', 'averageValue']) {
    const amount = textMember(target, name)
    if (amount !== '' && !isPositive(amount))
      found.add(invalid(fieldAt(at, name), amount, 'must be positive'))
  }
  const utilization = numberMember(target, 'averageUtilization')
  if (utilization !== null && utilization < 1)
    found.add(invalid(fieldAt(at, 'averageUtilization'), utilization, 'must be greater than 0'))
}

/** Checks the target of a resource of Pods: a utilization or a raw value. */
export function checkResourceMetric(metric: JsonObject, at: Path | null, found: Findings): void {
  requireText(metric, 'name', 'must specify a resource name', at, found)
  const target = objectMember(metric, 'target')
  const [byUtilization, byValue] = [isSet(target, 'averageUtilization'), isSet(target, 'averageValue')]
  if (!byUtilization && !byValue) {
    const words = 'must set either a target raw value or a target utilization'
    found.add(required(fieldAt(at, 'target', 'averageUtilization'), words))
  }
  if (!byUtilization || !byValue) return
  const words = 'may not set both a target raw value and a target utilization'
  found.add(fieldForbidden(fieldAt(at, 'target', 'averageValue'), words))
}

export function checkContainerMetric(metric: JsonObject, at: Path | null, found: Findings): void {
  requireText(metric, 'container', 'must specify a container', at, found)
  checkResourceMetric(metric, at, found)
}

export function checkObjectMetric(metric: JsonObject, at: Path | null, found: Findings): void {
  const target = objectMember(metric, 'target')
  if (isSet(target, 'value') || isSet(target, 'averageValue')) return
  const words = 'must set either a target value or averageValue'
  found.add(required(fieldAt(at, 'target', 'averageValue'), words))
}

export function checkPodsMetric(metric: JsonObject, at: Path | null, found: Findings): void {
  if (isPositive(textMember(objectMember(metric, 'target'), 'averageValue'))) return
  found.add(required(fieldAt(at, 'target', 'averageValue'), 'must specify a positive target averageValue'))
}

export function checkExternalMetric(metric: JsonObject, at: Path | null, found: Findings): void {
  const target = objectMember(metric, 'target')
  const [byValue, byAverage] = [isSet(target, 'value'), isSet(target, 'averageValue')]
  if (!byValue && !byAverage) {
    const words = 'must set either a target value for metric or a per-pod target'
    found.add(required(fieldAt(at, 'target', 'averageValue'), words))
  }
  if (!byValue || !byAverage) return
  const words = 'may not set both a target value for metric and a per-pod target'
  found.add(fieldForbidden(fieldAt(at, 'target', 'value'), words))
}

function requireText(value: JsonObject, name: string, words: string, at: Path | null, found: Findings): void {
  if (textMember(value, name) === '') found.add(required(fieldAt(at, name), words))
}

function isSet(value: JsonObject, name: string): boolean {
  return memberOf(value, name) !== undefined
}

function isPositive(amount: string): boolean {
  return (parseQuantity(amount)?.nanos ?? 0n) > 0n
}
