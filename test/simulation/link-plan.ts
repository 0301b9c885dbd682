import type { SeededRandom } from '../../base/random.ts'
import type { Target } from './fault-target.ts'
import { joinsMax } from './membership-plan.ts'

/** A fault of the links between members. */
export type LinkFaultAction =
  | {
      readonly kind: 'isolate'
      readonly target: Target
      readonly way: 'both' | 'deaf' | 'mute'
      readonly forMs: number
    }
  /** Bit n: the side of member n + 1. */
  | { readonly kind: 'halves'; readonly sides: number; readonly forMs: number }
  /** Each member reaches its two neighbours only; later members follow at the end. */
  | { readonly kind: 'ring'; readonly order: readonly number[]; readonly forMs: number }
  | { readonly kind: 'one-way'; readonly from: number; readonly to: number; readonly forMs: number }
  | {
      readonly kind: 'flapping'
      readonly target: Target
      readonly periodMs: number
      readonly forMs: number
    }
  | {
      readonly kind: 'half-open'
      readonly target: Target
      readonly other: number | 'all'
      readonly silentMs: number
      readonly forMs: number
    }
  | {
      readonly kind: 'slow-link'
      readonly target: Target
      readonly other: number | 'all'
      readonly extraMs: number
      readonly forMs: number
    }
  | {
      readonly kind: 'clogged-link'
      readonly target: Target
      readonly other: number | 'all'
      readonly messageMs: number
      readonly queueMax: number
      readonly forMs: number
    }

/** A fault that a leader has to notice, or that replaces it. */
export type LeaderFaultAction =
  /**
   * The leader receives messages with growing delay, and then reaches none of the others: they
   * elect a new leader while the old one still receives their delayed responses. Clients send
   * bursts to all of them.
   */
  | {
      readonly kind: 'depose'
      readonly target: Target
      readonly lateMs: number
      readonly calls: number
      readonly forMs: number
    }
  | { readonly kind: 'wall-jump'; readonly target: Target; readonly byMs: number }
  | { readonly kind: 'transfer'; readonly to: number }

/** Draws the parameters of a fault of one of these kinds. */
export function drawLinkFault(
  kind: (LinkFaultAction | LeaderFaultAction)['kind'],
  random: SeededRandom,
  more: {
    readonly target: Target
    readonly anyone: () => number
    readonly members: number
    readonly forMs: number
  },
): LinkFaultAction | LeaderFaultAction {
  const { target, anyone, members, forMs } = more
  const other = random.chance(0.5) ? anyone() : ('all' as const)
  switch (kind) {
    case 'isolate':
      return { kind, target, way: random.pick(['both', 'deaf', 'mute'] as const), forMs }
    case 'halves':
      return { kind, sides: random.below(2 ** (members + joinsMax)), forMs }
    case 'ring':
      return { kind, order: shuffled(random, members), forMs }
    case 'one-way':
      return { kind, from: anyone(), to: anyone(), forMs }
    case 'flapping':
      return { kind, target, periodMs: random.pick([20, 100, 350, 900]), forMs: forMs + 1_000 }
    case 'half-open':
      return { kind, target, other, silentMs: random.pick([1_000, 5_000, 20_000]), forMs: forMs + 500 }
    case 'slow-link':
      return { kind, target, other, extraMs: random.pick([10, 60, 250, 1_000]), forMs: forMs + 500 }
    case 'clogged-link': {
      const messageMs = random.pick([1, 5, 25])
      return { kind, target, other, messageMs, queueMax: random.pick([1, 4, 30]), forMs: forMs + 500 }
    }
    case 'depose': {
      const leader = { ...target, preferLeader: true }
      return {
        kind,
        target: leader,
        lateMs: random.pick([200, 500, 900]),
        calls: 1 + random.below(6),
        forMs: 1_500,
      }
    }
    case 'wall-jump':
      return {
        kind,
        target,
        byMs: random.pick([-1, 1]) * random.pick([50, 5_000, 3_600_000, 400 * 86_400_000]),
      }
    case 'transfer':
      return { kind, to: anyone() }
  }
}

function shuffled(random: SeededRandom, members: number): readonly number[] {
  const order = Array.from({ length: members }, (_, at) => at + 1)
  for (let at = members - 1; at > 0; at--) {
    const other = random.below(at + 1)
    const held = order[at] as number
    order[at] = order[other] as number
    order[other] = held
  }
  return order
}
