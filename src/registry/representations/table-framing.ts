import { WATCH_EVENT_PREFIXES, WATCH_EVENT_SUFFIX, bookmarkMetadata } from '../../api/watch-event.ts'
import type { StoreEvent } from '../../store/object-store.ts'
import { columnsOf } from '../kinds/columns.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import { parsedJson } from '../kinds/encode.ts'
import { bytesFor } from './event-frames.ts'
import type { EventType } from './event-frames.ts'
import { errorIn, yamlEvent } from './framing.ts'
import type { Framing } from './framing.ts'
import { partialObject, rowOf, rowText, tableHead, tableTail } from './table.ts'
import type { Row, TableShape } from './table.ts'

/**
 * Rows of events, each made once for all watches; an entry lives as long as the store keeps the
 * event.
 */
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

export type TableFramingOptions = {
  readonly definition: ResourceDefinition
  readonly shape: TableShape
  readonly encoding: 'json' | 'yaml'
  readonly rows: EventRows
  /** Wall clock, ms since 1970. */
  readonly nowMs: () => number
}

/** Encodes each event as a table of one row; only the first has the column definitions. */
export function tableFraming({ definition, shape, encoding, rows, nowMs }: TableFramingOptions): Framing {
  let reported = false
  const framed = (type: EventType | 'BOOKMARK', revision: number, row: string): Uint8Array => {
    const head = tableHead(definition, shape, { resourceVersion: String(revision) }, !reported)
    reported = true
    const table = `${head}${row}${tableTail}`
    if (encoding === 'yaml') return yamlEvent(type, parsedJson(Buffer.from(table)))
    return Buffer.from(`${WATCH_EVENT_PREFIXES[type]}${table}${WATCH_EVENT_SUFFIX}`)
  }
  return {
    parsesObjects: true,
    frame: (event, type) =>
      framed(type, event.revision, rowText(rows.row(definition, shape, event, type), nowMs())),
    initial: (stored) => [
      framed('ADDED', stored.revision, rowText(rowOf(definition, shape, stored.bytes), nowMs())),
    ],
    bookmark: (revision, annotation) =>
      framed('BOOKMARK', revision, bookmarkRow(definition, shape, revision, annotation)),
    error: (error) => errorIn(encoding, error),
  }
}

/** Returns a row with only the metadata of a bookmark. */
function bookmarkRow(
  definition: ResourceDefinition,
  { apiVersion }: TableShape,
  revision: number,
  annotation: string | null,
): string {
  const cells = JSON.stringify(columnsOf(definition).map(() => null))
  return `{"cells":${cells},"object":${partialObject(apiVersion, bookmarkMetadata(revision, annotation))}}`
}
