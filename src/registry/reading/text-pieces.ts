import type { Clock } from '../../../base/clock.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { parseOwnJson } from '../../api/codec/json.ts'
import { yamlItem, yamlText } from '../../api/codec/yaml-writer.ts'
import type { JsonObject } from '../../api/json.ts'
import { parseBytes } from '../kinds/encode.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import { YieldBudget, yieldToEventLoop } from '../shared/yield-budget.ts'
import type { Form } from '../representations/representation.ts'
import type { Batches } from './slices.ts'
import { columnDefinitions, rowOf, rowText, tableHead, tableTail } from '../representations/table.ts'
import type { TableShape } from '../representations/table.ts'

/** A list as text, for which each object must be parsed. */
export type TextList = {
  readonly head: string
  /** @param bytes as stored */
  readonly item: (bytes: Uint8Array) => string
  readonly separator: string
  readonly tail: string
  /** The whole text of an empty list. */
  readonly empty: string
}

/**
 * Returns a list in pieces of about `pieceBytes`. Yields to the event loop after a bounded number
 * of parsed bytes or a bounded time.
 */
export async function* textPieces(
  list: TextList,
  batches: Batches,
  { clock, limits }: { readonly clock: Clock; readonly limits: RegistryLimits },
): AsyncGenerator<Uint8Array, void> {
  let piece = list.head
  let first = true
  const turn = new YieldBudget(clock, limits)
  for await (const batch of batches) {
    for (const { bytes } of batch) {
      if (turn.isSpent) {
        await yieldToEventLoop(clock)
        turn.reset()
      }
      turn.charge(bytes.byteLength)
      piece += (first ? '' : list.separator) + list.item(bytes)
      first = false
      if (piece.length < limits.pieceBytes) continue
      yield Buffer.from(piece)
      piece = ''
    }
  }
  yield Buffer.from(first ? list.empty : `${piece}${list.tail}`)
}

/** Returns converted objects as a JSON list. */
export function jsonList({ listType, shown }: Form, metadata: JsonObject): TextList {
  const { kind, apiVersion } = listType
  const head = JSON.stringify({ kind, apiVersion, metadata, items: [] }).slice(0, -']}'.length)
  return {
    head,
    item: (bytes) => jsonText(shown(parseBytes(bytes))),
    separator: ',',
    tail: ']}\n',
    empty: `${head}]}\n`,
  }
}

/** Returns a list as YAML. Its members are sorted, so kind and metadata follow the items. */
export function yamlList({ listType, shown }: Form, metadata: JsonObject): TextList {
  const { kind, apiVersion } = listType
  return {
    head: `${yamlText({ apiVersion })}items:\n`,
    item: (bytes) => yamlItem(shown(parseBytes(bytes))),
    separator: '',
    tail: yamlText({ kind, metadata }),
    empty: yamlText({ apiVersion, items: [], kind, metadata }),
  }
}

type TableOf = {
  readonly definition: ResourceDefinition
  readonly shape: TableShape
  /** Wall clock, ms since 1970. */
  readonly nowMs: () => number
}

export function jsonTable({ definition, shape, nowMs }: TableOf, metadata: JsonObject): TextList {
  const head = tableHead(definition, shape, metadata)
  return {
    head,
    item: (bytes) => rowText(rowOf(definition, shape, bytes), nowMs()),
    separator: ',',
    tail: `${tableTail}\n`,
    empty: `${head}${tableTail}\n`,
  }
}

export function yamlTable({ definition, shape, nowMs }: TableOf, metadata: JsonObject): TextList {
  const { apiVersion } = shape
  const table = { apiVersion, columnDefinitions: columnDefinitions(definition), kind: 'Table', metadata }
  return {
    head: `${yamlText(table)}rows:\n`,
    item: (bytes) => yamlItem(parseOwnJson(rowText(rowOf(definition, shape, bytes), nowMs()))),
    separator: '',
    tail: '',
    empty: yamlText({ ...table, rows: [] }),
  }
}
