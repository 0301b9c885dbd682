import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import { ageColumn, nameColumn } from '../../registry/kinds/columns.ts'
import type { AnyObject, Column } from '../../registry/kinds/definition.ts'
import { textColumn } from '../common/text-column.ts'
import { memberOfType } from './metric-rules.ts'

/** @source upstream `pkg/printers/internalversion`, printHorizontalPodAutoscaler */
export const autoscalerColumns: readonly Column[] = [
  nameColumn,
  textColumn('Reference', 'The object that is scaled.', (object) => {
    const target = objectMember(objectMember(object, 'spec'), 'scaleTargetRef')
    return `${textMember(target, 'kind')}/${textMember(target, 'name')}`
  }),
  textColumn('Targets', 'Current value and target of each metric.', targetsText),
  textColumn('MinPods', 'The lowest number of Pods.', (object) => {
    const low = numberMember(objectMember(object, 'spec'), 'minReplicas')
    return low === null ? '<unset>' : String(low)
  }),
  {
    ...{ name: 'MaxPods', type: 'string', description: 'The highest number of Pods.' },
    cell: (object) => numberMember(objectMember(object, 'spec'), 'maxReplicas') ?? 0,
  },
  {
    ...{ name: 'Replicas', type: 'string', description: 'Number of Pods.' },
    cell: (object) => numberMember(objectMember(object, 'status'), 'currentReplicas') ?? 0,
  },
  ageColumn,
]

/** Limit on the metrics that are shown. */
const SHOWN_MAX = 2

function targetsText(object: AnyObject): string {
  const metrics = objectsMember(objectMember(object, 'spec'), 'metrics')
  if (metrics.length === 0) return '<none>'
  const statuses = objectsMember(objectMember(object, 'status'), 'currentMetrics')
  const shown = metrics.slice(0, SHOWN_MAX).map((metric, at) => metricText(metric, statuses[at] ?? {}))
  const more = metrics.length - SHOWN_MAX
  return more > 0 ? `${shown.join(', ')} + ${more} more...` : shown.join(', ')
}

function metricText(metric: JsonObject, status: JsonObject): string {
  const source = memberOfType(metric)
  if (source === null) return '<unknown type>'
  const target = objectMember(objectMember(metric, source), 'target')
  const current = objectMember(objectMember(status, source), 'current')
  const shown = (name: string): string => `${amountText(current, name)}/${amountText(target, name)}`
  const isAverage = memberOf(target, 'averageValue') !== undefined
  switch (source) {
    case 'object':
    case 'external':
      return isAverage ? `${shown('averageValue')} (avg)` : shown('value')
    case 'pods':
      return shown('averageValue')
    default:
      return isAverage ? shown('averageValue') : utilizationText(current, target)
  }
}

function amountText(amounts: JsonObject, name: string): string {
  return textMember(amounts, name) || '<unknown>'
}

function utilizationText(current: JsonObject, target: JsonObject): string {
  const [now, wanted] = [current, target].map((amounts) => numberMember(amounts, 'averageUtilization'))
  return `${percentText(now, '<unknown>')}/${percentText(wanted, '<auto>')}`
}

function percentText(percent: number | null | undefined, unset: string): string {
  return percent === null || percent === undefined ? unset : `${percent}%`
}
