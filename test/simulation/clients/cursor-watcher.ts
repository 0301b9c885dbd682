import type { SeededRandom } from '../../../base/random.ts'
import { StoreError } from '../../../src/store/store-errors.ts'
import { prefixOf } from '../../../src/store/key.ts'
import type { StoreEvent, WatchCursor } from '../../../src/store/object-store.ts'
import { noRevision } from '../../../src/store/revision.ts'
import type { Revision } from '../../../src/store/revision.ts'
import type { World } from '../world.ts'
import type { History } from './history.ts'
import type { Served } from './served.ts'

/** The pulled range: all objects of the kind that clients write. */
const everything = prefixOf({ group: '', plural: 'configmaps', namespace: null })
/** Interval at which the watcher reads, and reopens a cursor whose process ended. */
const pollMs = 200

export type CursorWatcherOptions = {
  readonly world: World
  readonly history: History
  readonly name: string
  readonly serving: () => readonly Served[]
}

/**
 * Reads a watch cursor of the store itself, in which commands arrive complete, at changing members.
 */
export class CursorWatcher {
  readonly #options: CursorWatcherOptions
  readonly #random: SeededRandom
  #last: Revision = noRevision
  #open: { readonly served: Served; readonly cursor: WatchCursor } | null = null
  #reading = false

  constructor(options: CursorWatcherOptions) {
    this.#options = options
    this.#random = options.world.random.fork()
  }

  start(): void {
    this.#options.world.schedule(pollMs, 'cursor polls', null, () => {
      this.#poll()
      this.start()
    })
  }

  #poll(): void {
    if (this.#open === null || this.#open.served.gone || this.#random.chance(0.05)) this.#reopen()
    this.#read()
  }

  #reopen(): void {
    if (this.#reading) return
    if (this.#open?.served.gone === false) this.#open.cursor.close()
    this.#open = null
    const all = this.#options.serving()
    if (all.length === 0) return
    const served = this.#random.pick(all)
    // A quarantined state is not read.
    if (served.instance.machine?.quarantine !== null) return
    const view = served.store.view()
    // A lagging member does not have that revision yet.
    if (view.revision < this.#last) return
    try {
      this.#open = { served, cursor: served.store.watch(everything, this.#last) }
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause
      // Compacted: it continues after the current revision.
      if (cause.code === 'compacted') this.#last = view.revision
    }
  }

  #read(): void {
    const open = this.#open
    if (open === null || this.#reading || open.served.gone) return
    let answer: readonly StoreEvent[] | Promise<readonly StoreEvent[]>
    try {
      answer = open.cursor.next(1 + this.#random.below(20))
    } catch (cause) {
      this.#failed(cause)
      return
    }
    if (!(answer instanceof Promise)) {
      this.#took(open, answer)
      return
    }
    this.#reading = true
    // A process that crashes during a disk read never answers.
    const given = new Promise<null>((resolve) => {
      this.#options.world.schedule(5_000, 'cursor times out', null, () => resolve(null))
    })
    Promise.race([answer, given]).then(
      (events) => {
        this.#reading = false
        if (events === null) this.#open = null
        else this.#took(open, events)
      },
      (cause: unknown) => {
        this.#reading = false
        this.#failed(cause)
      },
    )
  }

  #failed(cause: unknown): void {
    if (!(cause instanceof StoreError)) {
      this.#options.world.fail(cause)
      return
    }
    if (cause.code === 'compacted') this.#last = this.#open?.served.store.view().revision ?? this.#last
    this.#open = null
  }

  #took(
    open: { readonly served: Served; readonly cursor: WatchCursor },
    events: readonly StoreEvent[],
  ): void {
    const { world, history, name } = this.#options
    const { served, cursor } = open
    if (served.dropsResponses) return
    if (events.length > 0) {
      const revisions = events.map(({ revision }) => revision)
      history.pulls.push({
        watcher: name,
        member: served.member,
        after: this.#last,
        upTo: cursor.revision,
        revisions,
      })
      this.#last = cursor.revision
      world.schedule(0, 'cursor reads on', null, () => this.#read())
    } else cursor.onMore(() => world.schedule(0, 'cursor wakes', null, () => this.#read()))
  }
}
