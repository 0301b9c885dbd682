import { WATCH_EVENT_PREFIXES, WATCH_EVENT_SUFFIX, bookmarkEvent } from '../api/watch-event.ts'
import type { StoreEvent, StoredObject } from '../store/object-store.ts'
import { apiVersionOf } from './definition.ts'
import type { ResourceDefinition } from './definition.ts'
import { bytesFor } from './event-frames.ts'
import type { EventFrames, EventType } from './event-frames.ts'
import { columnsOf } from './columns.ts'
import { partialObject, rowOf, rowText, tableHead, tableTail } from './table.ts'
import type { Row, TableShape } from './table.ts'

/** How the events of one watch are written. Whole lines, each with its newline. */
export interface Framing {
  frame(event: StoreEvent, type: EventType): Uint8Array
  /** An object that was there before the watch began, in parts that follow one another. */
  initial(stored: StoredObject): readonly Uint8Array[]
  /** @param annotation key to set to `true`, or null */
  bookmark(revision: number, annotation: string | null): Uint8Array
}

/** The objects as they are stored. */
export function objectFraming(frames: EventFrames, definition: ResourceDefinition): Framing {
  const type = { kind: definition.kind, apiVersion: apiVersionOf(definition) }
  return {
    frame: (event, kind) => frames.frame(event, kind),
    initial: (stored) => frames.initial(stored),
    bookmark: (revision, annotation) => Buffer.from(bookmarkEvent(type, revision, annotation)),
  }
}

/** Rows of events, each made once, however many watch; one lives as long as the store keeps the event. */
export class EventRows {
  readonly #rows = new WeakMap<StoreEvent, Map<string, Row>>()

  row(definition: ResourceDefinition, shape: TableShape, event: StoreEvent, type: EventType): Row {
    let rows = this.#rows.get(event)
    if (rows === undefined) {
      rows = new Map()
      this.#rows.set(event, rows)
    }
    const known = `${type} ${shape.includeObject} ${shape.apiVersion}`
    let row = rows.get(known)
    if (row === undefined) {
      row = rowOf(definition, shape, bytesFor(event, type))
      rows.set(known, row)
    }
    return row
  }
}

export type TableFramingParts = {
  readonly definition: ResourceDefinition
  readonly shape: TableShape
  readonly rows: EventRows
  /** Wall clock, ms since 1970. */
  readonly nowMs: () => number
}

/** Each event is a table of one row; only the first says what the columns are. */
export function tableFraming({ definition, shape, rows, nowMs }: TableFramingParts): Framing {
  let told = false
  const framed = (type: EventType | 'BOOKMARK', revision: number, row: string): Uint8Array => {
    const head = tableHead(definition, shape, { resourceVersion: String(revision) }, !told)
    told = true
    return Buffer.from(`${WATCH_EVENT_PREFIXES[type]}${head}${row}${tableTail}${WATCH_EVENT_SUFFIX}`)
  }
  return {
    frame: (event, type) =>
      framed(type, event.revision, rowText(rows.row(definition, shape, event, type), nowMs())),
    initial: (stored) => [
      framed('ADDED', stored.revision, rowText(rowOf(definition, shape, stored.bytes), nowMs())),
    ],
    bookmark: (revision, annotation) =>
      framed('BOOKMARK', revision, bookmarkRow(definition, shape, revision, annotation)),
  }
}

/** A row of nothing but the metadata that a bookmark is there for. */
function bookmarkRow(
  definition: ResourceDefinition,
  { apiVersion }: TableShape,
  revision: number,
  annotation: string | null,
): string {
  const cells = JSON.stringify(columnsOf(definition).map(() => null))
  const metadata = {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(annotation === null ? {} : { annotations: { [annotation]: 'true' } }),
  }
  return `{"cells":${cells},"object":${partialObject(apiVersion, metadata)}}`
}
