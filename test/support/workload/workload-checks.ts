import type { Journal, Term } from './journal.ts'
import { podViolations } from './pod-checks.ts'
import { podHistoryOf } from './pod-history.ts'
import { sizeViolations } from './size-checks.ts'
import type { RecordedEvent } from './watch-recorder.ts'

export type WorkloadHistory = {
  readonly pods: readonly RecordedEvent[]
  readonly replicaSets: readonly RecordedEvent[]
  readonly journal: Journal
  /** The UIDs of the Pods that each node's agent was given. */
  readonly agents: ReadonlyMap<string, ReadonlySet<string>>
}

/** Returns what a correct server, controller and scheduler never do. */
export function historyViolations({
  pods,
  replicaSets,
  journal,
  agents,
}: WorkloadHistory): readonly string[] {
  const { lives, violations } = podHistoryOf(pods)
  const misplaced = lives.flatMap(({ name, uid, node, gone }) => {
    const given = [...agents].filter(([, uids]) => uids.has(uid)).map(([agent]) => agent)
    if (given.some((agent) => agent !== node))
      return [`Pod ${name} on ${node} was given to ${given.join(', ')}`]
    return gone === null && given.length === 0 ? [`Pod ${name} was given to no node`] : []
  })
  return [
    ...violations,
    ...podViolations(lives, journal, new Set(agents.keys())),
    ...sizeViolations(lives, replicaSets, journal),
    ...misplaced,
  ]
}

/** Returns the first difference of two records of the same collection. */
export function agreementViolations(
  one: readonly RecordedEvent[],
  other: readonly RecordedEvent[],
): readonly string[] {
  const line = (event: RecordedEvent | undefined): string =>
    event === undefined ? 'nothing' : `${event.type} ${event.object.metadata.name} ${event.version}`
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const [a, b] = [line(one[at]), line(other[at])]
    if (a !== b) return [`two watches differ at event ${at + 1}: ${a} and ${b}`]
  }
  return []
}

/** Returns terms of controllers that overlap. */
export function leaderViolations(terms: readonly Term[]): readonly string[] {
  const sorted = terms.toSorted((a, b) => a.startMs - b.startMs)
  return sorted.slice(1).flatMap(({ identity, startMs }, at) => {
    const before = sorted[at]
    if (before === undefined || (before.endMs !== null && before.endMs <= startMs)) return []
    return [`${identity} began to lead before ${before.identity} ended`]
  })
}
