import { assertNever } from '../../base/assert.ts'
import { ChaosFailure } from './errors.ts'

/** What can be done to a cluster on this machine, in the order in which help tells it. */
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
  /** SIGKILL, and a start later. */
  | { readonly kind: 'kill' }
  /** SIGSTOP, and SIGCONT later. */
  | { readonly kind: 'pause' }
  /** SIGTERM, and a start later. */
  | { readonly kind: 'stop' }
  /** No byte between `size` members and the others; the victim is one of them. */
  | { readonly kind: 'partition'; readonly size: number }
  /** One way only: `to` the victim, it hears nobody; `from` it, nobody hears it. */
  | { readonly kind: 'cut'; readonly direction: 'to' | 'from' }
  /** Every byte between the victim and its peers is late, by up to half as much again. */
  | { readonly kind: 'slow-link'; readonly delayMs: number }
  /** What TCP makes of lost packets: each piece may wait for being sent again, and all behind it with it. */
  | { readonly kind: 'lossy-link'; readonly lossPercent: number }
  /** Each sync of the log takes that much longer. */
  | { readonly kind: 'slow-disk'; readonly delayMs: number }
  /** Each write to any file fails with EFBIG; a start later. */
  | { readonly kind: 'full-disk' }
  /** The wall clock jumps, and jumps back. The monotonic one does not, as on real machines. */
  | { readonly kind: 'clock-skew'; readonly skewMs: number }
  /** One after another is stopped, started and awaited. */
  | { readonly kind: 'rolling-restart' }
  /** SIGKILL to all of them at once, and a start later. */
  | { readonly kind: 'outage' }
  /** It votes no more, and later again. */
  | { readonly kind: 'demote' }
  /** One more joins and votes, and is removed later. */
  | { readonly kind: 'member-churn' }

/** One thing that will be done. Times in ms from the start of the run. */
export type Fault = {
  /** Not before; later when what came before is not over yet. */
  readonly atMs: number
  readonly forMs: number
  /** A member's name, or whoever leads then. Of faults of all members: nobody in particular. */
  readonly target: string
  /** Faults of one lane come one after another. null: of all lanes, alone. */
  readonly lane: number | null
  readonly spec: FaultSpec
}

export const theLeader = 'leader'
export const allMembers = 'all'

/** @throws ChaosFailure `unknown-fault` */
export function parseKinds(text: string): readonly FaultKind[] {
  const known: ReadonlyMap<string, FaultKind> = new Map(faultKinds.map((kind) => [kind, kind]))
  const kinds = text.split(',').map((word) => {
    const kind = known.get(word.trim())
    if (kind !== undefined) return kind
    throw new ChaosFailure('unknown-fault', `there is no fault "${word}": there are ${faultKinds.join(', ')}`)
  })
  return faultKinds.filter((kind) => kinds.includes(kind))
}

/** In words, for people. */
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
      return spec.direction === 'to' ? 'cut: it hears nobody' : 'cut: nobody hears it'
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
      return 'one member more'
    default:
      return assertNever(spec)
  }
}
