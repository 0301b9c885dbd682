import { assertNever } from '../../base/assert.ts'
import { ChaosError } from './errors.ts'

/** Kinds of faults. */
export const faultKinds = [
  'kill',
  'pause',
  'stop',
  'partition',
  'cut',
  'slow-link',
  'lossy-link',
  'slow-disk',
  'full-disk',
  'clock-skew',
  'rolling-restart',
  'outage',
  'demote',
  'member-churn',
] as const

export type FaultKind = (typeof faultKinds)[number]

export type FaultSpec =
  /** SIGKILL, restarted later. */
  | { readonly kind: 'kill' }
  /** SIGSTOP, and SIGCONT later. */
  | { readonly kind: 'pause' }
  /** SIGTERM, restarted later. */
  | { readonly kind: 'stop' }
  /** Cuts `size` members, which include the target, off from the others. */
  | { readonly kind: 'partition'; readonly size: number }
  /**
   * Cuts one direction. `to`: the target receives nothing; `from`: its peers receive nothing from
   * it.
   */
  | { readonly kind: 'cut'; readonly direction: 'to' | 'from' }
  /** Delays all bytes between the target and its peers by `delayMs` to 1.5 times that. */
  | { readonly kind: 'slow-link'; readonly delayMs: number }
  /**
   * Packet loss as seen through TCP: a chunk may wait for a retransmission, with everything after
   * it.
   */
  | { readonly kind: 'lossy-link'; readonly lossPercent: number }
  /** Each sync of the log takes longer. */
  | { readonly kind: 'slow-disk'; readonly delayMs: number }
  /** Each write to any file fails with EFBIG; restarted later. */
  | { readonly kind: 'full-disk' }
  /**
   * The wall clock jumps, and jumps back later. The monotonic clock does not, as on real machines.
   */
  | { readonly kind: 'clock-skew'; readonly skewMs: number }
  /** Each member in turn is stopped, started and awaited. */
  | { readonly kind: 'rolling-restart' }
  /** SIGKILL to all members at once, restarted later. */
  | { readonly kind: 'outage' }
  /** The target becomes a learner, and a voter again later. */
  | { readonly kind: 'demote' }
  /** A new member joins and votes, and is removed later. */
  | { readonly kind: 'member-churn' }

/** One planned fault. */
export type Fault = {
  /** Earliest start, in ms from the start of the run; later if earlier faults took longer. */
  readonly atMs: number
  /** Duration in ms. */
  readonly forMs: number
  /** Name of a member; `leader`: the leader at that time; `all`: all members. */
  readonly target: string
  /** Faults of one lane run one after the other. null: runs alone. */
  readonly lane: number | null
  readonly spec: FaultSpec
}

export const theLeader = 'leader'
export const allMembers = 'all'

/** @throws ChaosError `unknown-fault` */
export function parseKinds(text: string): readonly FaultKind[] {
  const known: ReadonlyMap<string, FaultKind> = new Map(faultKinds.map((kind) => [kind, kind]))
  const kinds = text.split(',').map((word) => {
    const kind = known.get(word.trim())
    if (kind !== undefined) return kind
    throw new ChaosError('unknown-fault', `there is no fault "${word}": there are ${faultKinds.join(', ')}`)
  })
  return faultKinds.filter((kind) => kinds.includes(kind))
}

/** Returns a description for reports. */
export function describeFault(spec: FaultSpec): string {
  switch (spec.kind) {
    case 'kill':
      return 'kill -9'
    case 'pause':
    case 'stop':
      return spec.kind
    case 'partition':
      return spec.size === 1 ? 'partition' : `partition of ${spec.size}`
    case 'cut':
      return spec.direction === 'to' ? 'cut: it receives nothing' : 'cut: it sends nothing'
    case 'slow-link':
      return `slow links: ${spec.delayMs} ms`
    case 'lossy-link':
      return `lossy links: ${spec.lossPercent} %`
    case 'slow-disk':
      return `slow disk: ${spec.delayMs} ms for each sync`
    case 'full-disk':
      return 'full disk'
    case 'clock-skew':
      return `clock ${spec.skewMs < 0 ? 'back' : 'ahead'} by ${Math.abs(spec.skewMs) / 1000} s`
    case 'rolling-restart':
      return 'rolling restart'
    case 'outage':
      return 'kill -9 of all'
    case 'demote':
      return 'demoted: it does not vote'
    case 'member-churn':
      return 'one additional member'
    default:
      return assertNever(spec)
  }
}
