import type { ProvenMode } from '../../src/registry/calls/consistency.ts'
import { deedKinds } from './plan.ts'
import type { DeedKind } from './plan.ts'
import { membershipEvents } from './checkers/memberships.ts'
import type { MembershipEvent } from './checkers/memberships.ts'
import type { StorageEvent } from './checkers/true-storage.ts'
import { crashSteps } from './steps.ts'
import type { CrashStep, Side } from './steps.ts'
import type { LinkFault } from './link.ts'
import type { StreamFault } from './snapshot-streams.ts'

/** What was really met, not only planned. */
const metFaults = [
  ...(['disk-write-io', 'disk-sync-io', 'disk-read-io', 'disk-write-disk-full'] as const),
  ...(['sync-stalls', 'sync-stalls-for-ever', 'database-stall', 'database-write-io'] as const),
  ...(['log-refused', 'log-wounded', 'log-repaired', 'log-rots-in-use', 'log-damage-harmless'] as const),
  ...(['turned-away', 'other-cluster', 'peer-violation'] as const),
  ...(['database-quarantined', 'database-healed'] as const),
  ...(['lost-batch', 'channel-stall', 'clock-drift'] as const),
] as const
const linkFaults: readonly LinkFault[] = [
  ...(['loss', 'duplicate', 'overtaking', 'late', 'heavy-tail'] as const),
  ...(['cut', 'half-open', 'slow-link', 'clog-drop'] as const),
]
const streamFaults: readonly StreamFault[] = ['stream-reset', 'stream-cut-short', 'stream-hangs']

/** What only a member that diverged can meet. */
const divergenceFaults = [
  ...(['divergence', 'divergence-suspected', 'divergence-repaired'] as const),
  ...(['right-suspected', 'right-repaired', 'nobody-right'] as const),
] as const

/** What only a cluster meets whose members come and go, beside what is decided of them. */
const memberFaults = [
  ...([
    'member-joined',
    'change-refused',
    'change-asked-again',
    'late-addition-refused',
    'leader-removed',
    'ruined-replaced',
  ] as const),
  ...(['member-left', 'member-left-again', 'watch-resumed-on-joined'] as const),
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

/** How an answer was proven that a client heard, and how a watch began. */
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
export type Feat = `deed ${DeedKind}` | `met ${MetFault}` | `crash ${Side} ${CrashStep}` | Proven

/** Everything that has to happen somewhere in the seeds of a suite, but for what is `seldom`. */
export const feats: readonly Feat[] = [
  ...deedKinds.map((kind) => `deed ${kind}` as const),
  ...[...metFaults, ...divergenceFaults, ...memberFaults].map((fault) => `met ${fault}` as const),
  ...[...linkFaults, ...streamFaults, ...storageEvents].map((fault) => `met ${fault}` as const),
  ...membershipEvents.map((event) => `met ${event}` as const),
  ...provenReads.map((mode) => `read ${mode}` as const),
  ...provenWatches.map((mode) => `watch ${mode}` as const),
  ...crashSteps.flatMap((step) => [`crash before ${step}`, `crash after ${step}`] as const),
]

/** Counted, but too seldom to be asked for of a few hundred seeds. */
const seldom: ReadonlySet<Feat> = new Set<Feat>([
  ...([
    'met nobody-right',
    'met right-suspected',
    'met leader-removed-itself',
    'met removed-by-own-log',
  ] as const),
])

export type Counts = Readonly<Partial<Record<Feat, number>>>

/** How often each kind of harm was really done. */
export class Coverage {
  readonly #counts: Partial<Record<Feat, number>> = {}

  get counts(): Counts {
    return this.#counts
  }

  hit(feat: Feat): void {
    this.#counts[feat] = (this.#counts[feat] ?? 0) + 1
  }

  add(counts: Counts): void {
    for (const feat of feats) {
      const more = counts[feat] ?? 0
      if (more > 0) this.#counts[feat] = (this.#counts[feat] ?? 0) + more
    }
  }

  missing(): readonly Feat[] {
    return feats.filter((feat) => this.#counts[feat] === undefined && !seldom.has(feat))
  }

  /** For people: what was done, how often. */
  table(): string {
    const width = Math.max(...feats.map((feat) => feat.length))
    return feats.map((feat) => `${feat.padEnd(width)}  ${this.#counts[feat] ?? 0}`).join('\n')
  }
}
