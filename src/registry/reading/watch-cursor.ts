import type { StoredObject, StoreEvent, WatchCursor } from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'
import type { EventType } from '../representations/event-frames.ts'
import type { ConvertibleStore } from '../shared/convertible-store.ts'
import type { Selection } from './selection.ts'

/**
 * Returns a cursor over the events of a selection. Those objects of an event that a watch needs are
 * converted already.
 *
 * @throws StoreError as `ObjectStore.watch`
 */
export function openCursor(store: ConvertibleStore, selection: Selection, after: Revision): WatchCursor {
  const { prefix, interest } = selection
  if (store.conversions === undefined) return store.watch(prefix, after, interest)
  return store.conversions.watch(prefix, after, interest, (event) => objectsRead(event, selection))
}

/**
 * Returns the type of an event for a watch: with selectors, an update can be ADDED or DELETED.
 *
 * @returns null: the event does not concern the watch
 */
export function typeOf(event: StoreEvent, selection: Selection): EventType | null {
  if (selection.key !== null && event.key !== selection.key) return null
  const matches = selection.matchesNow(event)
  switch (event.kind) {
    case 'created':
      return matches ? 'ADDED' : null
    case 'deleted':
      return matches ? 'DELETED' : null
    case 'updated': {
      const matched = selection.matchedBefore(event)
      if (matches) return matched ? 'MODIFIED' : 'ADDED'
      return matched ? 'DELETED' : null
    }
  }
}

function objectsRead(event: StoreEvent, selection: Selection): readonly StoredObject[] {
  const { key, object, previous } = event
  if (selection.key !== null && key !== selection.key) return []
  // They must be read to decide whether they match.
  if (selection.parsesObjects) {
    return previous === null || event.kind === 'deleted' ? [object] : [object, previous]
  }
  const type = typeOf(event, selection)
  if (type === null) return []
  const isLeaving = type === 'DELETED' && event.kind === 'updated' && previous !== null
  return [isLeaving ? previous : object]
}
