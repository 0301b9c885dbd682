import type { Channel } from '../../raft/ports.ts'
import type { Owner, World } from './world.ts'

export type ChannelDelays = {
  /** The maximum delay of most buffers; each delay is drawn. */
  readonly delayMsMax: number
  /** The maximum delay of some buffers, as if the thread were busy. */
  readonly stallMsMax: number
  readonly stallChance: number
}

/** Observes the messages of a channel. */
export type Tap<M> = {
  /** A message is about to be posted, or was handled. @returns whether the process crashes here */
  readonly step: (message: M, side: 'before' | 'after') => boolean
  /** For checkers, at the time of the post. */
  readonly observe: (message: M) => void
}

/**
 * Returns a channel between two actors of one process: ordered and lossless, with delays drawn from
 * the seed.
 */
export function simChannel<A, B>(options: {
  readonly world: World
  readonly ownerA: Owner
  readonly ownerB: Owner
  readonly label: string
  readonly delays: ChannelDelays
  readonly tapAtoB?: Tap<A>
  readonly tapBtoA?: Tap<B>
  /** A buffer may be delayed for long. @returns whether it is */
  readonly stalls?: () => boolean
}): { readonly a: Channel<A, B>; readonly b: Channel<B, A> } {
  const { world, delays, ownerA, ownerB, label, stalls } = options
  const a = new End<A, B>({ world, delays, owner: ownerA, stalls }, `${label}>`, options.tapAtoB)
  const b = new End<B, A>({ world, delays, owner: ownerB, stalls }, `${label}<`, options.tapBtoA)
  a.peer = b
  b.peer = a
  return { a, b }
}

type EndOptions = {
  readonly world: World
  readonly owner: Owner
  readonly delays: ChannelDelays
  readonly stalls: (() => boolean) | undefined
}

class End<Out, In> implements Channel<Out, In> {
  peer: End<In, Out> | null = null
  readonly #world: World
  readonly #owner: Owner
  readonly #delays: ChannelDelays
  readonly #label: string
  readonly #stalls: (() => boolean) | undefined
  readonly #tap: Tap<Out> | undefined
  #slab: Out[] = []
  #lastArrival = 0
  #handler: ((messages: readonly In[]) => void) | null = null
  #early: In[] = []
  #closed = false

  constructor(options: EndOptions, label: string, tap: Tap<Out> | undefined) {
    this.#world = options.world
    this.#owner = options.owner
    this.#delays = options.delays
    this.#stalls = options.stalls
    this.#label = label
    this.#tap = tap
  }

  /** Does nothing: the delay of a message may be as short as if it was sent at once. */
  flush(): void {}

  post(message: Out): void {
    if (this.#closed || !this.#owner.alive) return
    if (this.#tap?.step(message, 'before') === true) return
    this.#tap?.observe(message)
    this.#slab.push(message)
    if (this.#slab.length > 1) return
    const { random, now } = this.#world
    const slow = random.chance(this.#delays.stallChance) && this.#stalls?.() !== false
    const bound = slow ? this.#delays.stallMsMax : this.#delays.delayMsMax
    const delay = (random.below(1000) / 1000) * bound
    // A buffer collects the messages of one turn. It never arrives before an earlier one.
    const arrival = Math.max(now + delay, this.#lastArrival)
    this.#lastArrival = arrival
    this.#world.schedule(0, `${this.#label} post`, this.#owner, () => {
      const slab = this.#slab
      this.#slab = []
      const { peer } = this
      if (peer === null) return
      this.#world.scheduleAt(arrival, `${this.#label} ${slab.length}`, peer.#owner, () => {
        peer.arrive(slab)
        for (const message of slab) if (this.#tap?.step(message, 'after') === true) return
      })
    })
  }

  onMessages(handler: (messages: readonly In[]) => void): void {
    this.#handler = handler
    const early = this.#early
    this.#early = []
    if (early.length > 0) handler(early)
  }

  close(): void {
    this.#closed = true
  }

  arrive(messages: readonly In[]): void {
    if (this.#closed) return
    if (this.#handler === null) this.#early.push(...messages)
    else this.#handler(messages)
  }
}
