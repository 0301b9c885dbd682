import type { Clock } from '../../raft/base/clock.ts'
import type { ResourceDefinition } from './definition.ts'
import type { RegistryLimits } from './limits.ts'
import { turnOfOthers } from './slices.ts'
import type { Batches } from './slices.ts'
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
  batches: Batches,
  { clock, limits }: { readonly clock: Clock; readonly limits: RegistryLimits },
): AsyncGenerator<Uint8Array, void> {
  let piece = head
  let first = true
  let parsedBytes = 0
  for await (const batch of batches) {
    for (const { bytes } of batch) {
      if (parsedBytes > limits.readTurnBytes) {
        parsedBytes = 0
        await turnOfOthers(clock)
      }
      parsedBytes += bytes.byteLength
      piece += (first ? '' : ',') + rowText(rowOf(of.definition, of.shape, bytes), clock.wallMs())
      first = false
      if (piece.length < limits.pieceBytes) continue
      yield Buffer.from(piece)
      piece = ''
    }
  }
  yield Buffer.from(`${piece}${tableTail}\n`)
}
