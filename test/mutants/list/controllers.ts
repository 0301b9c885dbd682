import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** src/controllers: upkeep by the leader. */
export const controllerMutants: readonly Mutant[] = [
  {
    id: 'events-expire-at-once',
    file: 'src/controllers/object-expiry.ts',
    edits: [{ find: 'this.#sweep(sample.revision)', replace: 'this.#sweep(store.view().revision)' }],
    breaks: 'events expire too early, once one recorded time is old enough',
    standsFor: 'an event stays for --event-ttl after its last write',
    invariant: 'I17',
    killedBy: tests('unit/src/controllers/object-expiry'),
  },
  {
    id: 'event-removed-unseen',
    file: 'src/controllers/object-expiry.ts',
    edits: [{ find: "conditions: [{ kind: 'revision-is', revision }]", replace: 'conditions: []' }],
    breaks: 'an event is deleted although it was written again after it was selected',
    standsFor: 'events are deleted with a precondition on their version',
    invariant: 'I17',
    killedBy: tests('unit/src/controllers/object-expiry'),
  },
  {
    id: 'events-in-one-command',
    file: 'src/controllers/object-expiry.ts',
    edits: [{ find: 'this.#remove(due.slice(0, batchObjectsMax))', replace: 'this.#remove(due)' }],
    breaks: 'all events of a page are deleted by one command, and all other commands wait for it',
    standsFor: 'background work is done in small steps',
    invariant: 'L2',
    killedBy: tests('unit/src/controllers/object-expiry'),
  },
  {
    id: 'events-left-count-as-gone',
    file: 'src/controllers/object-expiry.ts',
    edits: [
      {
        find: 'if (await this.#walk(upTo)) this.#sweptUpTo = upTo',
        replace: 'await this.#walk(upTo)\n      this.#sweptUpTo = upTo',
      },
    ],
    breaks: 'events that could not be deleted are not retried until the next write',
    standsFor: 'the next sweep retries what the previous one could not delete',
    invariant: 'L3',
    killedBy: tests('unit/src/controllers/object-expiry'),
  },
]
