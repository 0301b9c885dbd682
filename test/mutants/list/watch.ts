import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** Events that watches send, and guarantees of requests for one object. */
export const watchMutants: readonly Mutant[] = [
  {
    id: 'watch-resumed-too-late',
    file: 'src/store/watch/cursor.ts',
    edits: [
      { find: 'this.#position = options.after', replace: 'this.#position = revision(options.after + 1)' },
    ],
    breaks: 'a watch misses the first event after its start revision',
    standsFor: 'etcd#19179: an event missing at the start of a watch',
    invariant: 'I22',
    killedBy: tests('unit/src/store/watch/hub'),
    seeds: 20,
  },
  {
    id: 'watch-resumed-too-early',
    file: 'src/store/watch/cursor.ts',
    edits: [
      {
        find: 'this.#position = options.after',
        replace: 'this.#position = options.after > 0 ? revision(options.after - 1) : options.after',
      },
    ],
    breaks: 'a watch repeats the event at its start revision',
    standsFor: 'etcd#15271: a watch goes back in time',
    invariant: 'I22',
    killedBy: tests('unit/src/store/watch/hub'),
    seeds: 20,
  },
  {
    id: 'watch-of-the-future-begins-now',
    file: 'src/registry/verbs/watch.ts',
    edits: [
      {
        find: 'const cursor = after > view.revision ? null : openCursor(store, selection, after)',
        replace: 'const cursor = openCursor(store, selection, after > view.revision ? view.revision : after)',
      },
    ],
    breaks: 'a watch at a revision that this member has not reached sends earlier events',
    standsFor: 'etcd#20221: a watch on a future revision',
    invariant: 'I22',
    killedBy: tests('unit/src/registry/verbs/watch'),
  },
  {
    id: 'first-events-out-of-order',
    file: 'src/registry/reading/revision-order.ts',
    edits: [{ find: 'selected.toSorted((a, b) => a.revision - b.revision)', replace: 'selected' }],
    breaks:
      'the initial state is sent in the order of names: a disconnected client resumes after what it did not get',
    standsFor: 'spec 6.1, resumable',
    invariant: 'I22',
    killedBy: tests('unit/src/registry/reading/long-collections'),
  },
  {
    id: 'bookmark-before-events',
    file: 'src/registry/reading/object-watch.ts',
    edits: [
      {
        find: 'framing.bookmark(cursor.revision, null)',
        replace: 'framing.bookmark(this.#options.store.view().revision, null)',
      },
    ],
    breaks: 'a bookmark names a revision whose events were not sent yet',
    standsFor: 'etcd#15220: progress reported ahead of events',
    invariant: 'I22',
    killedBy: tests('unit/src/registry/writing/races'),
  },
  {
    id: 'position-of-unseen-events',
    file: 'src/store/watch/cursor.ts',
    edits: [
      {
        find: "return this.#state === 'waiting' && seen > this.#position ? seen : this.#position",
        replace: 'return seen > this.#position ? seen : this.#position',
      },
    ],
    breaks: 'the position of a cursor is beyond events that it has not returned',
    standsFor: 'etcd#15220: progress reported ahead of events',
    invariant: 'I22',
    killedBy: tests('unit/src/store/watch/hub'),
  },
  {
    id: 'events-lost-behind-a-limit',
    file: 'src/store/watch/cursor.ts',
    edits: [
      {
        find: 'if (limitReached) return { upTo: at, missing: null }',
        replace: 'if (limitReached) return { upTo: history.last, missing: null }',
      },
    ],
    breaks: 'a lagging watcher loses the events beyond the first batch',
    standsFor: 'etcd#17529: events lost for slow watchers',
    invariant: 'I22',
    killedBy: tests('unit/src/store/watch/hub'),
    seeds: 20,
  },
  {
    id: 'events-repeated-from-disk',
    file: 'src/store/watch/cursor.ts',
    edits: [{ find: 'this.#position = at\n      return notes.map', replace: 'return notes.map' }],
    breaks: 'events read from disk are sent twice',
    standsFor: 'etcd#17247: duplicated events',
    invariant: 'I22',
    killedBy: tests('unit/src/store/compaction'),
  },
  {
    id: 'delete-lost-behind-the-trim',
    file: 'src/store/watch/cursor.ts',
    edits: [
      {
        find: 'const event = history.event(next)',
        replace:
          'const event = history.event(next)\n' +
          '      const { kind, previous } = history.note(next)\n' +
          "      if (kind === 'deleted' && previous <= history.trimmed) {\n        at = next\n        continue\n      }",
      },
    ],
    breaks: 'a deletion is not sent when the deleted version was trimmed',
    standsFor: 'etcd#18089: a deletion dropped by compaction',
    invariant: 'I22',
    killedBy: tests('unit/src/store/compaction'),
  },
  {
    id: 'command-torn-apart',
    file: 'src/store/watch/cursor.ts',
    edits: [
      {
        find: 'events.length >= limit && (next === null || commandEnded(history, at, next))',
        replace: 'events.length >= limit',
      },
    ],
    breaks: 'a reader of events sees half of a command',
    standsFor: 'etcd watch guarantee Atomic',
    invariant: 'I22',
    killedBy: tests('unit/src/store/watch/hub'),
  },
  {
    id: 'watchers-asleep-behind-a-snapshot',
    file: 'src/store/watch/hub.ts',
    edits: [{ find: '      this.#wakeAll(from)\n', replace: '' }],
    breaks: 'watchers that waited while a snapshot was installed are not woken',
    standsFor: 'etcd#17529; liveness of watches',
    invariant: 'L6',
    killedBy: tests('unit/src/store/store-machine'),
  },
  {
    id: 'selector-departure-missing',
    file: 'src/registry/reading/watch-cursor.ts',
    edits: [{ find: "return matched ? 'DELETED' : null", replace: 'return null' }],
    breaks: 'an object that stops matching a selector is not sent as DELETED',
    standsFor: 'spec 4.8, watch with selectors',
    invariant: 'I22',
    killedBy: tests('unit/src/registry/verbs/watch'),
    seeds: 20,
  },
  {
    id: 'selector-arrival-as-change',
    file: 'src/registry/reading/watch-cursor.ts',
    edits: [{ find: "matched ? 'MODIFIED' : 'ADDED'", replace: "matched ? 'MODIFIED' : 'MODIFIED'" }],
    breaks: 'an object that begins to match a selector is sent as MODIFIED',
    standsFor: 'spec 4.8, watch with selectors',
    invariant: 'I22',
    killedBy: tests('unit/src/registry/verbs/watch'),
    seeds: 20,
  },
  {
    id: 'uid-precondition-ignored',
    file: 'src/registry/verbs/delete.ts',
    edits: [
      {
        find: 'if (options.uid !== null && options.uid !== uid) {',
        replace: 'if (options.uid === uid && uid === null) {',
      },
    ],
    breaks: 'a deletion of one object removes a later object of the same name',
    standsFor: 'spec 3.1, preconditions',
    invariant: 'I17',
    killedBy: tests('unit/src/registry/verbs/delete'),
  },
  {
    id: 'update-without-condition',
    file: 'src/registry/writing/rewrite.ts',
    edits: [
      {
        find: "return { kind: 'put', key, conditions: [{ kind: 'revision-is', revision }], object }",
        replace: "return { kind: 'put', key, conditions: [], object }",
      },
    ],
    breaks: 'an update is proposed without the version it was made from',
    standsFor: 'lost updates between the read and the write of a PATCH',
    invariant: 'I17',
    killedBy: tests('unit/src/registry/verbs/update'),
    seeds: 20,
  },
  {
    id: 'removal-without-condition',
    file: 'src/registry/writing/finalize.ts',
    edits: [
      {
        find: 'if (definition.isNamespaceKind !== true) return [unchanged]',
        replace: 'if (definition.isNamespaceKind !== true) return []',
      },
    ],
    breaks: 'a deletion removes a version that its preconditions did not see',
    standsFor: 'spec 3.1, preconditions',
    invariant: 'I17',
    killedBy: tests('unit/src/registry/writing/races'),
  },
]
