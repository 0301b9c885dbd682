import type { Clock, Timer } from '../../base/clock.ts'
import type { Owner, World } from './world.ts'

/**
 * The time of one machine: its clock drifts at a constant rate, and its wall clock may be set to
 * any time.
 */
export class MachineTime {
  /** Machine ms per virtual ms. */
  readonly rate: number
  #wallOffsetMs = 0

  constructor(rate = 1) {
    this.rate = rate
  }

  get wallOffsetMs(): number {
    return this.#wallOffsetMs
  }

  /** Moves the wall clock. */
  jump(byMs: number): void {
    this.#wallOffsetMs += byMs
  }
}

/**
 * The clock of one actor. Each has its own origin, as in real threads: times of different clocks
 * must not be compared.
 */
export class SimClock implements Clock {
  readonly #world: World
  readonly #owner: Owner
  readonly #label: string
  readonly #machine: MachineTime
  readonly #offsetMs: number

  constructor(world: World, owner: Owner, label: string, machine = new MachineTime()) {
    this.#world = world
    this.#owner = owner
    this.#label = label
    this.#machine = machine
    this.#offsetMs = world.random.below(1_000_000)
  }

  monotonicMs(): number {
    return this.#now() * this.#machine.rate + this.#offsetMs
  }

  wallMs(): number {
    return Math.floor(1_700_000_000_000 + this.#now() * this.#machine.rate + this.#machine.wallOffsetMs)
  }

  after(delayMs: number, action: () => void): Timer {
    let cancelled = false
    this.#world.schedule(delayMs / this.#machine.rate, `${this.#label} timer`, this.#owner, () => {
      if (!cancelled) action()
    })
    return { cancel: () => (cancelled = true) }
  }

  every(periodMs: number, action: () => void): Timer {
    let cancelled = false
    const again = (): void => {
      this.#world.schedule(periodMs / this.#machine.rate, `${this.#label} tick`, this.#owner, () => {
        if (cancelled) return
        again()
        action()
      })
    }
    again()
    return { cancel: () => (cancelled = true) }
  }

  soon(action: () => void): void {
    // A turn takes a short, varying time.
    this.#world.schedule(this.#world.random.below(50) / 1000, `${this.#label} soon`, this.#owner, action)
  }

  /** In a thread that a disk operation blocks, the clock shows the time at which it returns. */
  #now(): number {
    const { pausedUntil } = this.#owner
    const { now } = this.#world
    return Number.isFinite(pausedUntil) && pausedUntil > now ? pausedUntil : now
  }
}
