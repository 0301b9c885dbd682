import { SeededRandom } from '../../base/random.ts'

/** A scheduled event. Whether its owner is alive is checked when its time comes. */
type Event = {
  readonly at: number
  readonly order: number
  readonly label: string
  readonly owner: Owner | null
  readonly action: () => void
}

/** The owner of events: those of a dead owner never happen, those of a paused one wait. */
export type Owner = {
  readonly name: string
  alive: boolean
  /** Virtual ms; Infinity: until `wake`. */
  pausedUntil: number
  /** Handles an error of its events; false: a bug of the program. null: always a bug. */
  readonly caught: ((cause: unknown) => boolean) | null
  /** Events that came due while it was paused, in order. */
  readonly waiting: Event[]
}

export type WorldOptions = {
  readonly seed: number
  /** Called with each event; null: no trace. */
  readonly trace: ((line: string) => void) | null
}

/** The number of past lines that are kept to explain a failure. */
const memoryLines = 4_000
/** Idle turns of the event loop after which no event will come. */
const idleTurnsMax = 3 * 64
/** Events after which the event loop gets a turn: a turn costs more than an event. */
const eventsPerTurn = 64

/**
 * All time and order of a simulated cluster. One event at a time, earliest first, equal times in
 * the order of scheduling; all promises are settled between events, so one seed has one history.
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
  readonly #past: { readonly at: number; readonly line: string }[] = []
  #pastAt = 0

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

  /** Changes with every event: equal for equal histories. */
  get traceHash(): string {
    return this.#hash.toString(16).padStart(8, '0')
  }

  /** Returns the last trace lines that `wanted` accepts, oldest first, at most `count`. */
  past(count: number, wanted: (line: string) => boolean): readonly string[] {
    const ordered = [...this.#past.slice(this.#pastAt), ...this.#past.slice(0, this.#pastAt)]
    return ordered
      .filter(({ line }) => wanted(line))
      .slice(-count)
      .map(({ at, line }) => stamped(at, line))
  }

  /** Adds a line to the trace, and so to its hash. */
  note(line: string): void {
    let hash = this.#hash
    for (let at = 0; at < line.length; at++) hash = Math.imul(hash ^ line.charCodeAt(at), 0x01000193)
    this.#hash = hash >>> 0
    if (this.#past.length < memoryLines) this.#past.push({ at: this.#now, line })
    else {
      this.#past[this.#pastAt] = { at: this.#now, line }
      this.#pastAt = (this.#pastAt + 1) % memoryLines
    }
    this.#trace?.(stamped(this.#now, line))
  }

  schedule(delayMs: number, label: string, owner: Owner | null, action: () => void): void {
    this.scheduleAt(this.#now + Math.max(0, delayMs), label, owner, action)
  }

  /** Schedules at an absolute time: adding a difference to now may differ by a rounding error. */
  scheduleAt(at: number, label: string, owner: Owner | null, action: () => void): void {
    this.#push({ at: Math.max(at, this.#now), order: this.#order++, label, owner, action })
  }

  /** Ends the run because of a finding. The first one counts. */
  fail(cause: unknown): void {
    this.#failure ??= cause instanceof Error ? cause : new Error(String(cause))
  }

  /** Ends a pause early; waiting events run now, in their order. */
  wake(owner: Owner): void {
    if (owner.pausedUntil <= this.#now) return
    owner.pausedUntil = this.#now
    this.#release(owner)
  }

  /** @throws the cause passed to `fail` */
  runUntil(end: number, enough: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      let over = false
      let left = 0
      let idleTurns = 0
      // Promises are settled between two immediates.
      const step = (): void => {
        left--
        if (over) return
        try {
          // Real asynchronous work may take turns of the event loop before it schedules more.
          if (this.#heap.length === 0 && idleTurns < idleTurnsMax && !enough()) {
            idleTurns++
            if (left === 0) begin()
            return
          }
          idleTurns = 0
          over = !this.#step(end, enough)
        } catch (cause) {
          over = true
          reject(cause instanceof Error ? cause : new Error(String(cause)))
          return
        }
        if (over) resolve()
        else if (left === 0) begin()
      }
      const begin = (): void => {
        left = eventsPerTurn
        for (let count = 0; count < eventsPerTurn; count++) setImmediate(step)
      }
      begin()
    })
  }

  /** Runs one event. @returns false when no event is left until `end`, or when `enough` is true */
  #step(end: number, enough: () => boolean): boolean {
    if (this.#failure !== null) throw this.#failure
    // Evaluated first, because it may schedule something.
    const isEnough = enough()
    const next = this.#heap[0]
    if (next === undefined || next.at > end || isEnough) {
      if (this.#now < end && !isEnough) this.#now = end
      return false
    }
    this.#pop()
    this.#now = next.at
    this.#happen(next)
    return true
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
      // An owner that died within its own event is not checked.
      if (owner?.caught?.(cause) !== true && owner?.alive !== false) this.fail(cause)
    }
  }

  /** A pause may have been extended or ended early. */
  #wakeLater(owner: Owner): void {
    if (!Number.isFinite(owner.pausedUntil)) return
    this.scheduleAt(owner.pausedUntil, `${owner.name} wakes`, null, () => {
      if (owner.pausedUntil > this.#now) this.#wakeLater(owner)
      else this.#release(owner)
    })
  }

  /** Waiting events run at once, in their order. */
  #release(owner: Owner): void {
    for (const event of owner.waiting.splice(0)) {
      this.#push({ ...event, at: this.#now, order: this.#order++ })
    }
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

function stamped(at: number, line: string): string {
  return `${at.toFixed(3).padStart(10)} ${line}`
}
