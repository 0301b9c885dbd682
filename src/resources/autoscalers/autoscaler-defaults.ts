import type { JsonObject } from '../../api/json.ts'
import { isJsonObject, memberOf, objectMember, objectsMember, withoutMembers } from '../../api/json.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/** The metric of an autoscaler without metrics. */
const DEFAULT_METRIC: JsonObject = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
}

const PERIOD_SECONDS = 15
const PERCENT: JsonObject = { type: 'Percent', value: 100, periodSeconds: PERIOD_SECONDS }
const SCALE_UP: JsonObject = {
  ...{ stabilizationWindowSeconds: 0, selectPolicy: 'Max' },
  policies: [{ type: 'Pods', value: 4, periodSeconds: PERIOD_SECONDS }, PERCENT],
}
/** Without a stabilization window: its default is a setting of the controller. */
const SCALE_DOWN: JsonObject = { selectPolicy: 'Max', policies: [PERCENT] }

/** @source upstream `pkg/apis/autoscaling/v2/defaults.go` */
export function fillAutoscaler(object: AnyObject): AnyObject {
  const spec = objectMember(object, 'spec')
  const behavior = memberOf(spec, 'behavior')
  const metrics = objectsMember(spec, 'metrics')
  return {
    ...object,
    spec: {
      ...spec,
      metrics: metrics.length === 0 ? [DEFAULT_METRIC] : metrics,
      ...(isJsonObject(behavior) ? { behavior: filledBehavior(behavior) } : {}),
    },
  }
}

function filledBehavior(behavior: JsonObject): JsonObject {
  return {
    ...behavior,
    scaleUp: { ...SCALE_UP, ...objectMember(behavior, 'scaleUp') },
    scaleDown: { ...SCALE_DOWN, ...objectMember(behavior, 'scaleDown') },
  }
}

/**
 * Drops the metrics of single containers, whose feature is off in release 1.24, unless the stored
 * autoscaler has one.
 *
 * @param current null: the autoscaler is new
 * @source upstream `pkg/registry/autoscaling/horizontalpodautoscaler`
 */
export function withoutContainerMetrics(object: AnyObject, current: AnyObject | null): AnyObject {
  if (!hasContainerMetric(object) || (current !== null && hasContainerMetric(current))) return object
  const spec = objectMember(object, 'spec')
  const metrics = objectsMember(spec, 'metrics')
  const kept = metrics.map((metric) => withoutMembers(metric, 'containerResource'))
  return { ...object, spec: { ...spec, metrics: kept } }
}

function hasContainerMetric(object: AnyObject): boolean {
  const metrics = objectsMember(objectMember(object, 'spec'), 'metrics')
  return metrics.some((metric) => Object.hasOwn(metric, 'containerResource'))
}
