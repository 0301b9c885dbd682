import type { SeededRandom } from '../../base/random.ts'
import { divergences } from './divergence.ts'
import type { Divergence } from './divergence.ts'
import type { Target } from './fault-target.ts'
import { keyValueRots } from './kv.ts'
import type { KeyValueRot } from './kv.ts'
import { logRots } from './log-rot.ts'
import type { LogRot } from './log-rot.ts'
import { drawLinkFault } from './link-plan.ts'
import type { LeaderFaultAction, LinkFaultAction } from './link-plan.ts'
import { drawMembershipAction, joinsMax, membershipActionKinds } from './membership-plan.ts'
import type { MembershipAction } from './membership-plan.ts'
import { crashSteps } from './crash-points.ts'
import type { CrashStep } from './crash-points.ts'

export type Thread = 'all' | 'api' | 'raft' | 'log'

/** One action of the nemesis. All of its parameters are drawn before the run. */
export type FaultAction =
  | MembershipAction
  | LinkFaultAction
  | LeaderFaultAction
  | { readonly kind: 'stop'; readonly target: Target; readonly downMs: number }
  /** `within`: between the next write of the log and its sync, if one follows soon. */
  | {
      readonly kind: 'kill' | 'power-cut'
      readonly target: Target
      readonly within: boolean
      readonly downMs: number
    }
  | {
      readonly kind: 'restart-loop'
      readonly target: Target
      readonly times: number
      readonly upMs: number
      readonly downMs: number
    }
  | {
      readonly kind: 'crash-step'
      /**
       * true: the first member that reaches the step crashes, without a time limit; false: the
       * target, if it reaches the step within `patienceMs`.
       */
      readonly anyMember: boolean
      readonly target: Target
      readonly step: CrashStep
      readonly side: 'before' | 'after'
      /** Number of these steps to skip first. */
      readonly skip: number
      readonly end: 'kill' | 'power-cut'
      readonly patienceMs: number
      readonly downMs: number
    }
  | { readonly kind: 'pause'; readonly target: Target; readonly thread: Thread; readonly forMs: number }
  /** Infinity: until the member is killed or loses power; it is down for `downMs` then. */
  | {
      readonly kind: 'sync-stall'
      readonly target: Target
      readonly stallMs: number
      readonly end: 'kill' | 'power-cut'
      readonly downMs: number
    }
  | {
      readonly kind: 'disk-error'
      readonly target: Target
      readonly operation: 'write' | 'sync' | 'read'
      readonly forMs: number
    }
  | { readonly kind: 'disk-full'; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'database-stall'; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'database-error'; readonly target: Target; readonly forMs: number }
  | {
      readonly kind: 'database-rot'
      readonly target: Target
      readonly rot: KeyValueRot
      readonly while: 'running' | 'down'
      readonly seed: number
      readonly downMs: number
    }
  | {
      readonly kind: 'log-rot'
      readonly target: Target
      /** The damage while it is down; a running member gets a flipped bit. */
      readonly rot: LogRot
      readonly while: 'running' | 'down'
      readonly seed: number
      readonly downMs: number
    }
  /** `alone`: all others but one are down at the same time. */
  | { readonly kind: 'wipe'; readonly target: Target; readonly downMs: number; readonly alone: boolean }
  /** Members are replaced by those of an earlier founding under the same names for a while. */
  | { readonly kind: 'earlier-cluster'; readonly targets: readonly number[]; readonly forMs: number }
  | { readonly kind: 'diverge'; readonly target: Target; readonly how: Divergence }
  /** An operator repairs a suspect member, else the target, from one with a right state. */
  | { readonly kind: 'repair'; readonly target: Target }
  /** A Byzantine member with valid keys sends impossible messages to all others. */
  | {
      readonly kind: 'byzantine'
      readonly target: Target
      readonly seed: number
      readonly messages: number
      readonly everyMs: number
    }

export type FaultKind = FaultAction['kind']

export type ScheduledFault = { readonly atMs: number; readonly fault: FaultAction }

/** Mean ms between actions of one kind; other kinds do not occur. */
export type FaultRates = ReadonlyMap<FaultKind, number>

export const faultKinds: readonly FaultKind[] = [
  ...(['kill', 'power-cut', 'stop', 'restart-loop', 'crash-step', 'pause'] as const),
  ...(['sync-stall', 'disk-error', 'disk-full', 'log-rot', 'wipe', 'earlier-cluster'] as const),
  ...(['database-stall', 'database-error', 'database-rot', 'diverge', 'repair'] as const),
  ...(['isolate', 'halves', 'ring', 'one-way', 'flapping'] as const),
  ...(['half-open', 'slow-link', 'clogged-link', 'depose', 'wall-jump', 'transfer'] as const),
  'byzantine',
  ...membershipActionKinds,
]

/** Permanent faults: more than a few would only end the run. */
const perMember: ReadonlySet<FaultKind> = new Set(['log-rot', 'wipe', 'database-rot', 'diverge'])

function countMax(kind: FaultKind, members: number): number {
  if (kind === 'join') return joinsMax
  return perMember.has(kind) ? members : Infinity
}

/** Returns all faults of a cluster that begins with `members` members, in order of time. */
export function drawPlan(options: {
  readonly random: SeededRandom
  readonly faultRates: FaultRates
  readonly members: number
  readonly forMs: number
  readonly downMsMax: number
}): readonly ScheduledFault[] {
  const { random, faultRates, forMs, downMsMax } = options
  const actions: ScheduledFault[] = []
  // New members are targets, too.
  const members = options.members + (faultRates.has('join') ? joinsMax / 2 : 0)
  for (const [kind, meanMs] of faultRates) {
    const own = random.fork()
    let atMs = firstAt(kind, own, meanMs)
    for (let count = 0; atMs < forMs && count < countMax(kind, options.members); count++) {
      const isFirstStart = atMs === 0
      actions.push({
        atMs: Math.round(atMs),
        fault: drawFault(kind, own, { members, downMsMax, isFirstStart }),
      })
      atMs += meanMs * (0.2 + (own.below(1000) / 1000) * 1.6)
    }
  }
  return actions.sort((a, b) => a.atMs - b.atMs)
}

/** A few crashes are early, because the steps of a new cluster occur only once. */
function firstAt(kind: FaultKind, random: SeededRandom, meanMs: number): number {
  if (kind === 'crash-step' && random.chance(0.5)) return 0
  return meanMs * (0.1 + random.below(1000) / 1000)
}

type Bounds = { readonly members: number; readonly downMsMax: number; readonly isFirstStart: boolean }

function drawFault(
  kind: FaultKind,
  random: SeededRandom,
  { members, downMsMax, isFirstStart }: Bounds,
): FaultAction {
  const anyone = (): number => 1 + random.below(members)
  const target: Target = { member: anyone(), preferLeader: random.chance(0.35) }
  const downMs = random.below(downMsMax)
  const forMs = 100 + random.below(random.pick([400, 2_000, 6_000]))
  switch (kind) {
    case 'stop':
      return { kind, target, downMs }
    case 'kill':
    case 'power-cut':
      return { kind, target, within: random.chance(0.6), downMs }
    case 'restart-loop':
      return { kind, target, downMs: random.below(200), times: 2 + random.below(5), upMs: random.below(900) }
    case 'crash-step':
      return drawCrash(random, target, downMs, isFirstStart)
    case 'pause':
      return { kind, target, thread: random.pick(['all', 'api', 'raft', 'log'] as const), forMs }
    case 'sync-stall': {
      const stallMs = random.pick([5, 50, 400, 2_000, 10_000, 30_000, Infinity])
      return { kind, target, stallMs, end: random.pick(['kill', 'power-cut'] as const), downMs }
    }
    case 'disk-error':
      return { kind, target, operation: random.pick(['write', 'sync', 'read'] as const), forMs }
    case 'disk-full':
    case 'database-stall':
    case 'database-error':
      return { kind, target, forMs }
    case 'database-rot': {
      const when = random.pick(['running', 'down'] as const)
      return { kind, target, rot: random.pick(keyValueRots), while: when, seed: random.next(), downMs }
    }
    case 'log-rot':
      return {
        ...{ kind, target, rot: random.pick(logRots), seed: random.next(), downMs },
        while: random.pick(['running', 'down'] as const),
      }
    case 'wipe':
      return { kind, target, downMs, alone: random.chance(0.5) }
    case 'earlier-cluster': {
      const targets = Array.from({ length: 1 + random.below(3) }, anyone)
      return { kind, targets: [...new Set(targets)], forMs: 500 + random.below(3_000) }
    }
    case 'diverge':
      return { kind, target, how: random.pick(divergences) }
    case 'byzantine': {
      const messages = random.pick([5, 40, 200])
      return { kind, target, seed: random.next(), messages, everyMs: random.pick([1, 10, 50]) }
    }
    case 'repair':
      return { kind, target }
    case 'join':
    case 'remove':
    case 'set-role':
    case 'move':
      return drawMembershipAction(kind, random, target)
    default:
      return drawLinkFault(kind, random, { target, anyone, members, forMs })
  }
}

/** Steps that occur when a member starts for the first time; some occur later too. */
const firstStartSteps: readonly CrashStep[] = [
  ...(['configuration', 'vote', 'log-rename', 'database-open'] as const),
  ...(['cluster-record', 'cluster-recorded'] as const),
]

/** Steps that occur a few times in some runs. */
const rareSteps: readonly CrashStep[] = [
  ...(['fetch', 'catch-up-read', 'log-truncate', 'log-remove', 'log-rename', 'database-destroy'] as const),
  ...([
    'snapshot-produce',
    'snapshot-send',
    'snapshot-stage',
    'snapshot-chunk',
    'snapshot-complete',
  ] as const),
  ...(['snapshot-taken', 'snapshot-record', 'snapshot-install', 'snapshot-installed'] as const),
]

/** The rarest of the rare steps. */
const rarestSteps: readonly CrashStep[] = [
  ...(['log-truncate', 'snapshot-complete', 'snapshot-install', 'snapshot-installed'] as const),
]

function drawCrash(random: SeededRandom, target: Target, downMs: number, isFirstStart: boolean): FaultAction {
  return {
    kind: 'crash-step',
    anyMember: isFirstStart || random.chance(0.7),
    target,
    step: random.pick(
      isFirstStart ? firstStartSteps : random.pick([crashSteps, crashSteps, rareSteps, rarestSteps]),
    ),
    side: random.pick(['before', 'after'] as const),
    skip: random.pick([0, 0, 0, 0, 1, 5]),
    end: random.pick(['kill', 'power-cut'] as const),
    patienceMs: 5_000,
    downMs,
  }
}

/** Returns one line for reports. */
export function describeFault({ atMs, fault }: ScheduledFault): string {
  const { kind, ...rest } = fault
  const words = Object.entries(rest).map(([name, value]) => {
    if (name === 'target') {
      const { member, preferLeader } = value as Target
      return preferLeader ? `the leader (else m${member})` : `m${member}`
    }
    return `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`
  })
  return `${String(atMs).padStart(7)} ms  ${kind}: ${words.join(', ')}`
}
