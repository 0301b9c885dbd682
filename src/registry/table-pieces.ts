import type { Clock } from '../../raft/base/clock.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { ResourceDefinition } from './definition.ts'
import type { RegistryLimits } from './limits.ts'
import { rowOf, rowText, tableTail } from './table.ts'
import type { TableShape } from './table.ts'

/**
 * The JSON of a table, in pieces of about `pieceBytes`. Each object is parsed for its row, so after a bounded
 * number of bytes the turn is given to others.
 *
 * @param head up to and with `"rows":[`
 */
export async function* tablePieces(
  of: { readonly definition: ResourceDefinition; readonly shape: TableShape },
  head: string,
  items: Iterable<StoredObject>,
  { clock, limits }: { readonly clock: Clock; readonly limits: RegistryLimits },
): AsyncGenerator<Uint8Array, void> {
  let piece = head
  let first = true
  let parsedBytes = 0
  for (const { bytes } of items) {
    if (parsedBytes > limits.tableTurnBytes) {
      parsedBytes = 0
      await new Promise<void>((resolve) => clock.soon(resolve))
    }
    parsedBytes += bytes.byteLength
    piece += (first ? '' : ',') + rowText(rowOf(of.definition, of.shape, bytes), clock.wallMs())
    first = false
    if (piece.length < limits.pieceBytes) continue
    yield Buffer.from(piece)
    piece = ''
  }
  yield Buffer.from(`${piece}${tableTail}\n`)
}
