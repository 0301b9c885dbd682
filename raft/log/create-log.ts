import type { Random } from '../../base/random.ts'
import { logIndex, noSnapshot } from '../core/types.ts'
import type { NodeId } from '../core/types.ts'
import type { LogDisk } from '../ports.ts'
import { EntryIndex } from './entry-index.ts'
import { GroupEncoder } from './group-encoder.ts'
import { logIdBytes } from './layout.ts'
import { LogShape } from './log-shape.ts'
import type { RecoveredFiles } from './recover.ts'
import { createSegment } from './segment.ts'

/** The part of `WalOptions` that a new log needs. */
type NewLogOptions = { readonly disk: LogDisk; readonly random: Random; readonly owner?: NodeId }

/** Creates the first segment of a new log. */
export function createLog({ disk, random, owner }: NewLogOptions): RecoveredFiles {
  const logId = random.bytes(logIdBytes)
  const shape = new LogShape(noSnapshot)
  const encoder = new GroupEncoder()
  encoder.begin({ logId, segment: 1, sequence: 1, seed: 0 })
  fillHead(encoder, shape)
  const { bytes, chain } = encoder.finish()
  const segment = createSegment(disk, { number: 1, logId, owner: owner ?? null, head: bytes })
  return {
    logId,
    segments: [segment],
    shape,
    index: new EntryIndex(logIndex(1)),
    chain,
    sequence: 2,
    repaired: null,
  }
}

/** Writes what the head of each segment repeats. */
export function fillHead(encoder: GroupEncoder, shape: LogShape): void {
  encoder.meta('base', shape.base)
  encoder.tail({ index: shape.lastIndex, term: shape.lastTerm })
  encoder.hardState(shape.hardState)
}
