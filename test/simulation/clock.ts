import type { Clock, Timer } from '../../raft/base/clock.ts'
import type { Owner, World } from './world.ts'

/**
 * The clock of one actor. Each has a zero of its own, as threads have: a moment taken from one clock and read
 * on
 * another is nonsense here too.
 */
export class SimClock implements Clock {
  readonly #world: World
  readonly #owner: Owner
  readonly #label: string
  readonly #offsetMs: number

  constructor(world: World, owner: Owner, label: string) {
    this.#world = world
    this.#owner = owner
    this.#label = label
    this.#offsetMs = world.random.below(1_000_000)
  }

  monotonicMs(): number {
    return this.#world.now + this.#offsetMs
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.#world.now
  }

  after(delayMs: number, action: () => void): Timer {
    let cancelled = false
    this.#world.schedule(delayMs, `${this.#label} timer`, this.#owner, () => {
      if (!cancelled) action()
    })
    return { cancel: () => (cancelled = true) }
  }

  every(periodMs: number, action: () => void): Timer {
    let cancelled = false
    const again = (): void => {
      this.#world.schedule(periodMs, `${this.#label} tick`, this.#owner, () => {
        if (cancelled) return
        again()
        action()
      })
    }
    again()
    return { cancel: () => (cancelled = true) }
  }

  soon(action: () => void): void {
    // A turn takes a moment, and never the same.
    this.#world.schedule(this.#world.random.below(50) / 1000, `${this.#label} soon`, this.#owner, action)
  }
}
