import { JSON_SERVED, TABLES_SERVED, negotiate } from '../api/media-type.ts'
import type { Served, TableServed } from '../api/media-type.ts'
import type { Verb } from '../registry/definition.ts'
import { readIncludeObject } from '../registry/options.ts'
import type { Query } from '../registry/options.ts'
import type { TableShape } from '../registry/table.ts'

/** @throws ApiError `NotAcceptable` when the client takes no plain JSON */
export function mustAcceptJson(header: string | undefined): void {
  if (header !== undefined && !PLAIN.has(header)) negotiate(header, JSON_SERVED)
}

/**
 * How the answer of a verb is wanted.
 *
 * @returns null: as the objects are
 * @throws ApiError `NotAcceptable`; `BadRequest` for a table with parameters it cannot have
 * @source spec 4.7
 */
export function tableWanted(header: string | undefined, verb: Verb, query: Query): TableShape | null {
  if (header === undefined || PLAIN.has(header)) return null
  if (!ANSWERS_WITH_OBJECTS.has(verb)) {
    mustAcceptJson(header)
    return null
  }
  const served = negotiate(header, JSON_OR_TABLE)
  if (!('tableVersion' in served)) return null
  return { apiVersion: served.tableVersion, includeObject: readIncludeObject(query) }
}

const JSON_OR_TABLE: readonly (Served | TableServed)[] = [...JSON_SERVED, ...TABLES_SERVED]

/** The others answer with a `Status`, mostly, and that has no columns. */
const ANSWERS_WITH_OBJECTS: ReadonlySet<Verb> = new Set(['get', 'list', 'watch', 'create', 'update', 'patch'])

/** What most requests say, spared the parsing. */
const PLAIN: ReadonlySet<string> = new Set(['', '*/*', 'application/json', 'application/json, */*'])
