import { isConditionTrue } from '../../api/metadata/conditions.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import { parseTimeMs } from '../../api/metadata/time.ts'
import { ageColumn, nameColumn } from '../../registry/kinds/columns.ts'
import type { AnyObject, Cell, Column } from '../../registry/kinds/definition.ts'

/**
 * The columns of `kubectl get pods`.
 *
 * @source upstream `pkg/printers/internalversion`, printPod
 */
export const podColumns: readonly Column[] = [
  nameColumn,
  {
    name: 'Ready',
    type: 'string',
    description: 'Number of ready containers and number of containers.',
    cell: (object) => `${summaryOf(object).ready}/${objectsMember(specOf(object), 'containers').length}`,
  },
  {
    name: 'Status',
    type: 'string',
    description: 'Phase of the Pod, or the reason for its current state.',
    cell: (object) => summaryOf(object).status,
  },
  {
    name: 'Restarts',
    type: 'string',
    description: 'Number of container restarts, and time since the last one.',
    cell: (object) => restarts(summaryOf(object)),
  },
  ageColumn,
  {
    name: 'IP',
    type: 'string',
    priority: 1,
    description: 'Primary IP address.',
    cell: (object) => orNone(textMember(objectsMember(statusOf(object), 'podIPs')[0] ?? {}, 'ip')),
  },
  {
    name: 'Node',
    type: 'string',
    priority: 1,
    description: 'Name of the node.',
    cell: (object) => orNone(textMember(specOf(object), 'nodeName')),
  },
  {
    name: 'Nominated Node',
    type: 'string',
    priority: 1,
    description: 'Node that is nominated for the Pod while others are preempted.',
    cell: (object) => orNone(textMember(statusOf(object), 'nominatedNodeName')),
  },
  {
    name: 'Readiness Gates',
    type: 'string',
    priority: 1,
    description: 'Number of readiness gates that are true, and number of all.',
    cell: (object) => readinessGates(object),
  },
]

/** Summary of the containers' states. */
type Summary = {
  readonly status: string
  readonly ready: number
  readonly restarts: number
  /** When the last run before a restart ended. null: no container was restarted. */
  readonly lastEnd: string | null
}

function summaryOf(object: AnyObject): Summary {
  const status = statusOf(object)
  const reason = textMember(status, 'reason') || textMember(status, 'phase')
  const init = objectsMember(status, 'initContainerStatuses')
  const waitsFor = init.findIndex((container) => exitCodeOf(container) !== 0)
  const summary = waitsFor >= 0 ? initializing(object, init, waitsFor) : running(object, init, reason)
  if (typeof object.metadata.deletionTimestamp !== 'string') return summary
  const isLost = textMember(status, 'reason') === 'NodeLost'
  return { ...summary, status: isLost ? 'Unknown' : 'Terminating' }
}

/** @param index of the first init container that has not succeeded yet */
function initializing(object: AnyObject, init: readonly JsonObject[], index: number): Summary {
  const seen = init.slice(0, index + 1)
  const state = objectMember(seen.at(-1) ?? {}, 'state')
  const waiting = textMember(objectMember(state, 'waiting'), 'reason')
  let status = `Init:${index}/${objectsMember(specOf(object), 'initContainers').length}`
  if (Object.hasOwn(state, 'terminated')) status = `Init:${endOf(objectMember(state, 'terminated'))}`
  else if (waiting !== '' && waiting !== 'PodInitializing') status = `Init:${waiting}`
  return { status, ready: 0, restarts: restartsOf(seen), lastEnd: lastEndOf(seen) }
}

function running(object: AnyObject, init: readonly JsonObject[], reason: string): Summary {
  const containers = objectsMember(statusOf(object), 'containerStatuses')
  let status = reason
  // The first container with a reason determines the status.
  for (const container of containers.toReversed()) {
    const state = objectMember(container, 'state')
    const waiting = textMember(objectMember(state, 'waiting'), 'reason')
    if (waiting !== '') status = waiting
    else if (Object.hasOwn(state, 'terminated')) status = endOf(objectMember(state, 'terminated'))
  }
  const ready = containers.filter(isServing).length
  if (status === 'Completed' && ready > 0) status = isTrue(object, 'Ready') ? 'Running' : 'NotReady'
  const lastEnd = lastEndOf([...init, ...containers])
  return { status, ready, restarts: restartsOf(containers), lastEnd }
}

/** Returns the exit code of a terminated container, else null. */
function exitCodeOf(container: JsonObject): number | null {
  const state = objectMember(container, 'state')
  if (!Object.hasOwn(state, 'terminated')) return null
  return numberMember(objectMember(state, 'terminated'), 'exitCode') ?? 0
}

function endOf(terminated: JsonObject): string {
  const reason = textMember(terminated, 'reason')
  if (reason !== '') return reason
  const signal = numberMember(terminated, 'signal') ?? 0
  return signal === 0 ? `ExitCode:${numberMember(terminated, 'exitCode') ?? 0}` : `Signal:${signal}`
}

function isServing(container: JsonObject): boolean {
  const state = objectMember(container, 'state')
  const isElsewhere =
    textMember(objectMember(state, 'waiting'), 'reason') !== '' || Object.hasOwn(state, 'terminated')
  return !isElsewhere && memberOf(container, 'ready') === true && Object.hasOwn(state, 'running')
}

function isTrue(object: AnyObject, type: string): boolean {
  return isConditionTrue(objectsMember(statusOf(object), 'conditions'), type)
}

function restartsOf(containers: readonly JsonObject[]): number {
  return containers.reduce((sum, container) => sum + (numberMember(container, 'restartCount') ?? 0), 0)
}

function lastEndOf(containers: readonly JsonObject[]): string | null {
  let last: string | null = null
  for (const container of containers) {
    const before = objectMember(objectMember(container, 'lastState'), 'terminated')
    const ended = textMember(before, 'finishedAt')
    if (ended !== '' && (last === null || (parseTimeMs(ended) ?? 0) > (parseTimeMs(last) ?? 0))) last = ended
  }
  return last
}

function restarts({ restarts: count, lastEnd }: Summary): Cell {
  return lastEnd === null ? String(count) : { since: lastEnd, before: `${count} (`, after: ' ago)' }
}

function readinessGates(object: AnyObject): string {
  const gates = objectsMember(specOf(object), 'readinessGates')
  if (gates.length === 0) return '<none>'
  // The first one of several conditions with the same type counts.
  const statuses = new Map<string, string>()
  for (const condition of objectsMember(statusOf(object), 'conditions').toReversed())
    statuses.set(textMember(condition, 'type'), textMember(condition, 'status'))
  const held = gates.filter((gate) => statuses.get(textMember(gate, 'conditionType')) === 'True')
  return `${held.length}/${gates.length}`
}

function orNone(text: string): string {
  return text === '' ? '<none>' : text
}

function specOf(object: AnyObject): JsonObject {
  return objectMember(object, 'spec')
}

function statusOf(object: AnyObject): JsonObject {
  return objectMember(object, 'status')
}
