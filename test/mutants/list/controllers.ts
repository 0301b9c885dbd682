import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** src/controllers: upkeep by the leader. */
export const controllerMutants: readonly Mutant[] = [
  {
    id: 'events-expire-at-once',
    file: 'src/controllers/event-expiry.ts',
    edits: [{ find: 'this.#sweep(note.revision)', replace: 'this.#sweep(store.view().revision)' }],
    breaks: 'events go however short ago they were written, once any note is old enough',
    standsFor: 'decision: an event stays a whole --event-ttl after it was last written',
    invariant: 'I17',
    killedBy: tests('unit/src/controllers/event-expiry'),
  },
  {
    id: 'event-removed-unseen',
    file: 'src/controllers/event-expiry.ts',
    edits: [{ find: "conditions: [{ kind: 'revision-is', revision }]", replace: 'conditions: []' }],
    breaks: 'an event that is written while it is about to go is deleted all the same',
    standsFor: 'decision: events go only as they were seen',
    invariant: 'I17',
    killedBy: tests('unit/src/controllers/event-expiry'),
  },
  {
    id: 'events-in-one-command',
    file: 'src/controllers/event-expiry.ts',
    edits: [{ find: 'this.#remove(due.slice(0, batchEventsMax))', replace: 'this.#remove(due)' }],
    breaks: 'all events of a page are deleted by one command, and all other commands wait for it',
    standsFor: 'decision: upkeep goes in small steps',
    invariant: 'L2',
    killedBy: tests('unit/src/controllers/event-expiry'),
  },
  {
    id: 'events-left-count-as-gone',
    file: 'src/controllers/event-expiry.ts',
    edits: [
      {
        find: 'if (await this.#walk(upTo)) this.#sweptUpTo = upTo',
        replace: 'await this.#walk(upTo)\n      this.#sweptUpTo = upTo',
      },
    ],
    breaks: 'events that a sweep could not delete are not looked at again until something is written',
    standsFor: 'decision: what a look could not do is done at the next one',
    invariant: 'L3',
    killedBy: tests('unit/src/controllers/event-expiry'),
  },
]
