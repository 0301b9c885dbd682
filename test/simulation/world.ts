import { SeededRandom } from '../../raft/base/random.ts'

/** One thing that will happen. `alive` is asked when its time comes. */
type Event = {
  readonly at: number
  readonly order: number
  readonly label: string
  readonly owner: Owner | null
  readonly action: () => void
}

/** Whose events these are: those of a dead owner never happen, those of a paused one wait. */
export type Owner = {
  readonly name: string
  alive: boolean
  pausedUntil: number
  /** What one of its events threw; false: a fault of the program. null: always a fault. */
  readonly caught: ((cause: unknown) => boolean) | null
  /** Came while it was paused, in order. */
  readonly waiting: Event[]
}

export type WorldOptions = {
  readonly seed: number
  /** Called with each event as it happens; null: nobody listens. */
  readonly trace: ((line: string) => void) | null
}

/**
 * All time and all order of a simulated cluster. One event at a time, earliest first, equal times in the
 * order
 * they were asked for; promises run dry between events, so one seed has one history.
 */
export class World {
  readonly random: SeededRandom
  readonly #trace: ((line: string) => void) | null
  readonly #heap: Event[] = []
  #now = 0
  #order = 0
  #hash = 0x811c9dc5
  #events = 0
  #failure: Error | null = null

  constructor(options: WorldOptions) {
    this.random = new SeededRandom(options.seed)
    this.#trace = options.trace
  }

  /** Virtual ms. */
  get now(): number {
    return this.#now
  }

  get events(): number {
    return this.#events
  }

  /** Grows with everything that happened: equal for equal histories. */
  get traceHash(): string {
    return this.#hash.toString(16).padStart(8, '0')
  }

  /** Goes into the trace, and so into its hash. */
  note(line: string): void {
    let hash = this.#hash
    for (let at = 0; at < line.length; at++) hash = Math.imul(hash ^ line.charCodeAt(at), 0x01000193)
    this.#hash = hash >>> 0
    this.#trace?.(`${this.#now.toFixed(3).padStart(10)} ${line}`)
  }

  schedule(delayMs: number, label: string, owner: Owner | null, action: () => void): void {
    this.scheduleAt(this.#now + Math.max(0, delayMs), label, owner, action)
  }

  /** For whoever promises an order: adding a difference to now again may miss by a rounding. */
  scheduleAt(at: number, label: string, owner: Owner | null, action: () => void): void {
    this.#push({ at: Math.max(at, this.#now), order: this.#order++, label, owner, action })
  }

  /** Ends the run: a checker or an actor found something wrong. The first one counts. */
  fail(cause: unknown): void {
    this.#failure ??= cause instanceof Error ? cause : new Error(String(cause))
  }

  /** @throws what `fail` was called with */
  async runUntil(end: number, enough: () => boolean = () => false): Promise<void> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      const next = this.#heap[0]
      if (next === undefined || next.at > end || enough()) break
      this.#pop()
      this.#now = next.at
      this.#happen(next)
      await dry()
    }
    if (this.#now < end && !enough()) this.#now = end
  }

  #happen(event: Event): void {
    const { owner } = event
    if (owner !== null) {
      if (!owner.alive) return
      if (owner.pausedUntil > this.#now) {
        if (owner.waiting.push(event) === 1) this.#wakeLater(owner)
        return
      }
    }
    this.#events++
    this.note(owner === null ? event.label : `${owner.name} ${event.label}`)
    try {
      event.action()
    } catch (cause) {
      if (owner?.caught?.(cause) !== true) this.fail(cause)
    }
  }

  /** What waited happens at once then, in its old order; a pause may have been prolonged meanwhile. */
  #wakeLater(owner: Owner): void {
    this.scheduleAt(owner.pausedUntil, `${owner.name} wakes`, null, () => {
      if (owner.pausedUntil > this.#now) {
        this.#wakeLater(owner)
        return
      }
      for (const event of owner.waiting.splice(0)) {
        this.#push({ ...event, at: this.#now, order: this.#order++ })
      }
    })
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent] as Event
      if (!earlier(event, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop() as Event
    const size = heap.length
    if (size === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && earlier(heap[child + 1] as Event, heap[child] as Event)) child++
      if (!earlier(heap[child] as Event, last)) break
      heap[at] = heap[child] as Event
      at = child
    }
    heap[at] = last
  }
}

function earlier(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Every promise that can settle without a further event has settled, and whoever waited for it went on. */
function dry(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
