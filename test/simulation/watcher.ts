import type { SeededRandom } from '../../raft/base/random.ts'
import { StoreFailure } from '../../src/store/errors.ts'
import { prefixOf } from '../../src/store/key.ts'
import type { WatchCursor } from '../../src/store/object-store.ts'
import { WatchHistory } from './checkers/watch-history.ts'
import type { Life, Member } from './process.ts'
import type { World } from './world.ts'

const everything = prefixOf({ group: '', plural: 'configmaps', namespace: null })
/** A watch that says nothing for this long is looked after. */
const patienceMs = 200

/** One client that watches everything from the beginning, on one member after the other. */
export class Watching {
  readonly history: WatchHistory
  readonly #world: World
  readonly #members: readonly Member[]
  readonly #random: SeededRandom
  #open: { readonly life: Life; readonly cursor: WatchCursor } | null = null
  #reading = false

  constructor(name: string, world: World, members: readonly Member[]) {
    this.history = new WatchHistory(name)
    this.#world = world
    this.#members = members
    this.#random = world.random.fork()
  }

  start(): void {
    this.#world.schedule(patienceMs, 'watcher looks', null, () => {
      this.#look()
      this.start()
    })
  }

  #look(): void {
    const open = this.#open
    const gone = open !== null && !this.#members.some((member) => member.life === open.life)
    if (open === null || gone || this.#random.chance(0.05)) this.#reopen()
    this.#read()
  }

  #reopen(): void {
    if (this.#reading) return
    this.#open?.cursor.close()
    this.#open = null
    const { life } = this.#random.pick(this.#members)
    if (life === null || life.store === null) return
    // A member that is behind knows nothing of that revision yet; a client is told so and comes later.
    if (life.store.view().revision < this.history.last) return
    try {
      this.#open = { life, cursor: life.store.watch(everything, this.history.last) }
    } catch (cause) {
      // One that is stopping takes nobody; the next look finds another.
      if (!(cause instanceof StoreFailure) || cause.code !== 'stopped') throw cause
    }
  }

  #read(): void {
    const open = this.#open
    if (open === null || this.#reading) return
    const answer = open.cursor.next(1 + this.#random.below(20))
    if (!(answer instanceof Promise)) {
      this.#took(open.cursor, answer)
      return
    }
    this.#reading = true
    // One that dies while it reads its disk never answers.
    const given = new Promise<null>((resolve) => {
      this.#world.schedule(5_000, 'watcher gives up', null, () => resolve(null))
    })
    Promise.race([answer, given]).then(
      (events) => {
        this.#reading = false
        if (events === null) this.#open = null
        else this.#took(open.cursor, events)
      },
      (cause: unknown) => {
        this.#reading = false
        this.#open = null
        if (!(cause instanceof StoreFailure)) this.#world.fail(cause)
      },
    )
  }

  #took(cursor: WatchCursor, events: Parameters<WatchHistory['saw']>[0]): void {
    try {
      this.history.saw(events)
    } catch (cause) {
      this.#world.fail(cause)
      return
    }
    if (events.length > 0) this.#world.schedule(0, 'watcher reads on', null, () => this.#read())
    else cursor.onMore(() => this.#world.schedule(0, 'watcher wakes', null, () => this.#read()))
  }
}
