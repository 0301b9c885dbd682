import type { ProvenMode } from '../../src/registry/calls/consistency.ts'
import { faultKinds } from './plan.ts'
import type { FaultKind } from './plan.ts'
import { membershipEvents } from './checkers/memberships.ts'
import type { MembershipEvent } from './checkers/memberships.ts'
import type { StorageEvent } from './checkers/storage-model.ts'
import { crashSteps } from './crash-points.ts'
import type { CrashStep, Side } from './crash-points.ts'
import type { LinkFault } from './link.ts'
import type { StreamFault } from './snapshot-streams.ts'

/** Faults that took effect, not only planned ones. */
const metFaults = [
  ...(['disk-write-io', 'disk-sync-io', 'disk-read-io', 'disk-write-disk-full'] as const),
  ...(['sync-stalls', 'sync-stalls-for-ever', 'database-stall', 'database-write-io'] as const),
  ...([
    'log-refused',
    'log-repairable',
    'log-repaired',
    'log-damaged-in-use',
    'log-damage-harmless',
  ] as const),
  ...(['peer-rejected', 'other-cluster', 'peer-violation', 'ended'] as const),
  ...(['database-quarantined', 'database-healed'] as const),
  ...(['lost-batch', 'channel-stall', 'clock-drift'] as const),
] as const
const linkFaults: readonly LinkFault[] = [
  ...(['loss', 'duplicate', 'overtaking', 'late', 'heavy-tail'] as const),
  ...(['cut', 'half-open', 'slow-link', 'clog-drop'] as const),
]
const streamFaults: readonly StreamFault[] = ['stream-reset', 'stream-cut-short', 'stream-hangs']

/** Events that need a diverged member. */
const divergenceFaults = [
  ...(['divergence', 'divergence-suspected', 'divergence-repaired'] as const),
  ...(['right-suspected', 'right-repaired', 'no-member-right'] as const),
] as const

/** Events that need membership changes, in addition to the committed ones. */
const memberFaults = [
  ...([
    'member-joined',
    'change-refused',
    'change-retried',
    'late-addition-refused',
    'leader-removed',
    'unrecoverable-replaced',
  ] as const),
  ...(['removal-noticed', 'removal-noticed-again', 'watch-resumed-on-joined'] as const),
] as const

const storageEvents: readonly StorageEvent[] = [
  ...([
    'level-2-raised',
    'level-3-raised',
    'object-too-large',
    'over-quota',
    'storage-alarm',
    'storage-alarm-ended',
  ] as const),
]

/** How the responses to clients, and the beginnings of watches, were proven. */
const provenReads: readonly ProvenMode[] = [
  ...(['linearizable', 'lease', 'bounded', 'any', 'log', 'not-older-than', 'exact'] as const),
]
const provenWatches: readonly ProvenMode[] = [
  ...(['linearizable', 'lease', 'bounded', 'any', 'log', 'exact'] as const),
]

export type Proven = `read ${ProvenMode}` | `watch ${ProvenMode}`
export type MetFault =
  | (typeof metFaults)[number]
  | (typeof divergenceFaults)[number]
  | (typeof memberFaults)[number]
  | LinkFault
  | StreamFault
  | StorageEvent
  | MembershipEvent
export type CoverageItem = `fault ${FaultKind}` | `met ${MetFault}` | `crash ${Side} ${CrashStep}` | Proven

/** Everything that has to occur in some seed of a suite, except the items in `seldom`. */
export const coverageItems: readonly CoverageItem[] = [
  ...faultKinds.map((kind) => `fault ${kind}` as const),
  ...[...metFaults, ...divergenceFaults, ...memberFaults].map((fault) => `met ${fault}` as const),
  ...[...linkFaults, ...streamFaults, ...storageEvents].map((fault) => `met ${fault}` as const),
  ...membershipEvents.map((event) => `met ${event}` as const),
  ...provenReads.map((mode) => `read ${mode}` as const),
  ...provenWatches.map((mode) => `watch ${mode}` as const),
  ...crashSteps.flatMap((step) => [`crash before ${step}`, `crash after ${step}`] as const),
]

/** Counted, but too rare to be required of a few hundred seeds. */
const seldom: ReadonlySet<CoverageItem> = new Set<CoverageItem>([
  ...([
    'met no-member-right',
    'met right-suspected',
    'met right-repaired',
    'met leader-removed-itself',
    'met removed-by-own-log',
  ] as const),
])

export type Counts = Readonly<Partial<Record<CoverageItem, number>>>

/** Counts how often each kind of fault took effect. */
export class Coverage {
  readonly #counts: Partial<Record<CoverageItem, number>> = {}

  get counts(): Counts {
    return this.#counts
  }

  hit(item: CoverageItem): void {
    this.#counts[item] = (this.#counts[item] ?? 0) + 1
  }

  add(counts: Counts): void {
    for (const item of coverageItems) {
      const more = counts[item] ?? 0
      if (more > 0) this.#counts[item] = (this.#counts[item] ?? 0) + more
    }
  }

  missing(): readonly CoverageItem[] {
    return coverageItems.filter((item) => this.#counts[item] === undefined && !seldom.has(item))
  }

  /** A table of what occurred, and how often, for people. */
  table(): string {
    const width = Math.max(...coverageItems.map((item) => item.length))
    return coverageItems.map((item) => `${item.padEnd(width)}  ${this.#counts[item] ?? 0}`).join('\n')
  }
}
