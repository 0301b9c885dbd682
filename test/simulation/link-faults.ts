import { assertNever } from '../../base/assert.ts'
import { nodeId } from '../../raft/index.ts'
import type { Target } from './fault-target.ts'
import type { LeaderFaultAction, LinkFaultAction } from './link-plan.ts'
import type { Condition } from './link.ts'
import type { Network } from './network.ts'

export type LinkFaultsOptions = {
  readonly network: Pick<Network, 'impose'>
  /** Returns the ids of all members. */
  readonly ids: () => readonly number[]
  readonly targetOf: (target: Target) => number
  /** Sends a burst of client calls to a member. */
  readonly burst: (member: number, what: 'read' | 'write', calls: number) => void
  /** Calls `act` after a time, unless the faults were stopped. */
  readonly later: (delayMs: number, label: string, act: () => void) => void
}

/** Degrades and heals the links between members. */
export class LinkFaults {
  readonly #options: LinkFaultsOptions

  constructor(options: LinkFaultsOptions) {
    this.#options = options
  }

  /** @returns whether the fault was injected */
  degrade(fault: LinkFaultAction): boolean {
    switch (fault.kind) {
      case 'isolate': {
        const id = this.#options.targetOf(fault.target)
        if (fault.way !== 'deaf') this.#impose(this.#pairs(id, 'all'), { kind: 'cut' }, fault.forMs)
        if (fault.way !== 'mute') this.#impose(reversed(this.#pairs(id, 'all')), { kind: 'cut' }, fault.forMs)
        return true
      }
      case 'halves':
        this.#cutUnless(
          (a, b) => ((fault.sides >> (a - 1)) & 1) === ((fault.sides >> (b - 1)) & 1),
          fault.forMs,
        )
        return true
      case 'ring': {
        const ids = this.#options.ids()
        const known = fault.order.filter((id) => ids.includes(id))
        const order = [...known, ...ids.filter((id) => !known.includes(id))]
        this.#cutUnless((a, b) => neighbours(order, a, b), fault.forMs)
        return true
      }
      case 'one-way':
        if (fault.from === fault.to) return false
        this.#impose([[fault.from, fault.to]], { kind: 'cut' }, fault.forMs)
        return true
      case 'flapping':
        this.#flap(this.#options.targetOf(fault.target), fault.periodMs, fault.forMs)
        return true
      case 'half-open': {
        const condition: Condition = { kind: 'half-open', silentMs: fault.silentMs }
        return this.#impose(
          this.#pairs(this.#options.targetOf(fault.target), fault.other),
          condition,
          fault.forMs,
        )
      }
      case 'slow-link': {
        const condition: Condition = { kind: 'slow', extraMs: fault.extraMs }
        return this.#impose(
          this.#pairs(this.#options.targetOf(fault.target), fault.other),
          condition,
          fault.forMs,
        )
      }
      case 'clogged-link': {
        const { messageMs, queueMax } = fault
        const condition: Condition = { kind: 'clogged', messageMs, queueMax }
        return this.#impose(
          this.#pairs(this.#options.targetOf(fault.target), fault.other),
          condition,
          fault.forMs,
        )
      }
      default:
        return assertNever(fault)
    }
  }

  /** Delays responses to the leader in growing steps: without any it would step down too early. */
  depose(fault: Depose, step = 1): boolean {
    const { lateMs, calls, forMs } = fault
    const id = this.#options.targetOf({
      ...fault.target,
      preferLeader: step === 1 && fault.target.preferLeader,
    })
    const again = { ...fault, target: { member: id, preferLeader: false } }
    const extraMs = (lateMs * step) / deposeSteps
    const isLast = step === deposeSteps
    const result = reversed(this.#pairs(id, 'all'))
    this.#impose(result, { kind: 'slow', extraMs }, isLast ? forMs : deposeStepMs)
    this.#burst(id, calls, isLast ? forMs : deposeStepMs)
    if (isLast) this.#impose(this.#pairs(id, 'all'), { kind: 'cut' }, forMs)
    else this.#options.later(deposeStepMs, `deposes m${id}`, () => this.depose(again, step + 1))
    return true
  }

  /** Sends writes, too: entries that the leader cannot replicate conflict with the log later. */
  #burst(id: number, calls: number, forMs: number): void {
    const { burst } = this.#options
    for (let atMs = 0; atMs < forMs; atMs += burstEveryMs) {
      this.#options.later(atMs, `request burst to m${id}`, () => {
        for (const other of this.#options.ids()) burst(other, 'write', 1)
        burst(id, 'read', calls)
      })
    }
  }

  #cutUnless(together: (a: number, b: number) => boolean, forMs: number): void {
    const pairs: Pair[] = []
    for (const a of this.#options.ids())
      for (const b of this.#options.ids()) if (a !== b && !together(a, b)) pairs.push([a, b])
    this.#impose(pairs, { kind: 'cut' }, forMs)
  }

  #flap(id: number, periodMs: number, leftMs: number): void {
    if (leftMs <= 0) return
    const both = [...this.#pairs(id, 'all'), ...reversed(this.#pairs(id, 'all'))]
    this.#impose(both, { kind: 'cut' }, periodMs / 2)
    this.#options.later(periodMs, `flaps m${id}`, () => this.#flap(id, periodMs, leftMs - periodMs))
  }

  #impose(pairs: readonly Pair[], condition: Condition, forMs: number): boolean {
    const { network } = this.#options
    const ends = pairs.map(([from, to]) => network.impose(nodeId(from), nodeId(to), condition))
    this.#options.later(forMs, `heals ${pairs.length} links`, () => {
      for (const end of ends) end()
    })
    return pairs.length > 0
  }

  #pairs(id: number, other: number | 'all'): readonly Pair[] {
    const others = other === 'all' ? this.#options.ids() : [other]
    return others.filter((one) => one !== id).map((one) => [id, one])
  }
}

type Pair = readonly [from: number, to: number]
type Depose = Extract<LeaderFaultAction, { readonly kind: 'depose' }>

const deposeSteps = 5
/** Below an election timeout. */
const deposeStepMs = 250
const burstEveryMs = 80

function reversed(pairs: readonly Pair[]): readonly Pair[] {
  return pairs.map(([from, to]) => [to, from])
}

/** Whether two members are neighbours on a ring. Three form a line, as a ring would connect all. */
function neighbours(order: readonly number[], a: number, b: number): boolean {
  const distance = Math.abs(order.indexOf(a) - order.indexOf(b))
  return distance === 1 || (order.length > 3 && distance === order.length - 1)
}
