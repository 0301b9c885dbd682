import { BrokenInvariant } from '../../../raft/base/assert.ts'
import { noRevision } from '../../../src/store/revision.ts'
import type { Revision } from '../../../src/store/revision.ts'
import type { StoreEvent, View } from '../../../src/store/object-store.ts'

/**
 * What one watcher saw, wherever it watched: ordered, unique, and in the end complete. Every revision is one event
 * here, because clients only ever write, under the prefix that is watched.
 */
export class WatchHistory {
  readonly #name: string
  #last: Revision = noRevision

  constructor(name: string) {
    this.#name = name
  }

  /** Where it goes on, on any member. */
  get last(): Revision {
    return this.#last
  }

  saw(events: readonly StoreEvent[]): void {
    for (const event of events) {
      if (event.revision !== this.#last + 1) {
        const what = event.revision <= this.#last ? 'repeated or out of order' : 'missed something'
        throw new BrokenInvariant(`watch ${this.#name} ${what}: ${event.revision} after ${this.#last}`)
      }
      if (event.object.revision !== event.revision) {
        throw new BrokenInvariant(`watch ${this.#name} was given another version at ${event.revision}`)
      }
      this.#last = event.revision
    }
  }

  /** With nothing more to come. */
  final(view: View): void {
    if (this.#last !== view.revision) {
      throw new BrokenInvariant(`watch ${this.#name} ended at ${this.#last}, the state at ${view.revision}`)
    }
  }
}
