import { assert } from '../../../base/assert.ts'
import { ageText } from '../../api/metadata/age.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { parseOwnJson } from '../../api/codec/json.ts'
import { isJsonObject } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { parseTimeMs } from '../../api/metadata/time.ts'
import { columnsOf } from '../kinds/columns.ts'
import type { AnyObject, Cell, ResourceDefinition } from '../kinds/definition.ts'

/** How much of its object each row carries. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** The table that a request wants as its response. */
export type TableShape = {
  /** apiVersion of the table and of the metadata in its rows, as the client named it. */
  readonly apiVersion: string
  readonly includeObject: IncludeObject
}

/**
 * A row except for its ages, which depend on the time of reading: text fragments with the
 * timestamps between them. Watches share the rows of events.
 */
export type Row = readonly (string | Age)[]

type Age = { readonly sinceMs: number | null; readonly before: string; readonly after: string }

/** @param bytes a stored object */
export function rowOf(definition: ResourceDefinition, shape: TableShape, bytes: Uint8Array): Row {
  return rowOfParsed(definition, shape, parsed(bytes))
}

type Parsed = { readonly object: AnyObject; readonly text: string }

function parsed(bytes: Uint8Array): Parsed {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const value = parseOwnJson(text)
  assert(isJsonObject(value) && isJsonObject(value['metadata']), 'a stored object has metadata')
  return { object: value as AnyObject, text }
}

function rowOfParsed(definition: ResourceDefinition, shape: TableShape, { object, text }: Parsed): Row {
  const row: (string | Age)[] = []
  let begun = '{"cells":['
  for (const [at, column] of columnsOf(definition).entries()) {
    const cell = column.cell(object)
    if (at > 0) begun += ','
    if (!isAge(cell)) begun += jsonText(cell)
    else {
      const { since, before = '', after = '' } = cell
      row.push(begun, { sinceMs: since === null ? null : parseTimeMs(since), before, after })
      begun = ''
    }
  }
  row.push(`${begun}],"object":${objectIn(shape, object, text)}}`)
  return row
}

export function rowText(row: Row, nowMs: number): string {
  let text = ''
  for (const part of row) text += typeof part === 'string' ? part : JSON.stringify(shown(part, nowMs))
  return text
}

/**
 * Returns the text up to and including `"rows":[`. @param columns false: the client has the column
 * definitions already
 */
export function tableHead(
  definition: ResourceDefinition,
  shape: TableShape,
  metadata: JsonObject,
  columns = true,
): string {
  const reported = columns ? JSON.stringify(columnDefinitions(definition)) : 'null'
  const type = `"kind":"Table","apiVersion":${JSON.stringify(shape.apiVersion)}`
  return `{${type},"metadata":${JSON.stringify(metadata)},"columnDefinitions":${reported},"rows":[`
}

export const tableTail = ']}'

/** Returns a table of one object. */
export function tableOfOne(
  definition: ResourceDefinition,
  shape: TableShape,
  bytes: Uint8Array,
  nowMs: number,
): Uint8Array {
  const read = parsed(bytes)
  // The object of a dry run has no resourceVersion.
  const metadata = { resourceVersion: read.object.metadata.resourceVersion ?? '' }
  const row = rowText(rowOfParsed(definition, shape, read), nowMs)
  return Buffer.from(`${tableHead(definition, shape, metadata)}${row}${tableTail}\n`)
}

export function columnDefinitions(definition: ResourceDefinition): readonly JsonObject[] {
  return columnsOf(definition).map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? '',
    description,
    priority: priority ?? 0,
  }))
}

function objectIn({ apiVersion, includeObject }: TableShape, { metadata }: AnyObject, text: string): string {
  switch (includeObject) {
    case 'None':
      return 'null'
    case 'Object':
      return text
    case 'Metadata':
      return partialObject(apiVersion, metadata)
  }
}

export function partialObject(apiVersion: string, metadata: AnyObject['metadata']): string {
  return jsonText({ kind: 'PartialObjectMetadata', apiVersion, metadata })
}

function shown({ sinceMs, before, after }: Age, nowMs: number): string {
  return `${before}${sinceMs === null ? '<unknown>' : ageText(nowMs - sinceMs)}${after}`
}

function isAge(cell: Cell): cell is Extract<Cell, object> {
  return typeof cell === 'object' && cell !== null
}
