import type { Entry, HardState, SnapshotMeta } from '../core/types.ts'
import { entryBytes } from '../core/types.ts'
import type { LogDisk } from '../ports.ts'
import { GroupEncoder } from './group-encoder.ts'
import { preambleBytes, segmentName, segmentNumber, unfinishedName } from './layout.ts'
import { encodePreamble } from './segment.ts'
import type { LogOwner } from './segment.ts'

export type NewLog = {
  readonly logId: Uint8Array
  readonly owner: LogOwner
  /** Number of the last existing segment. */
  readonly lastSegment: number
  /** Above the sequence of every existing group. */
  readonly sequence: number
  readonly base: SnapshotMeta
  readonly hardState: HardState
  /** All entries from `base.index + 1` on. */
  readonly entries: Iterable<Entry>
}

const MiB = 1024 * 1024
const groupBytesWanted = 1 * MiB

/**
 * Rewrites a log as one segment after a gap in the numbers. Recovery treats the segments before a
 * gap as removed, so the rename of the new segment replaces the whole log atomically. A crash
 * before the rename leaves the log unchanged; a crash after it leaves old segments, which the next
 * start removes.
 *
 * @throws LogError
 */
export function rewriteLog(disk: LogDisk, log: NewLog): void {
  const { logId, owner, base } = log
  const number = log.lastSegment + 2
  const unfinished = unfinishedName(number)
  // A process that crashed here left such a file.
  if (disk.list().includes(unfinished)) disk.remove(unfinished)
  const file = disk.open(unfinished, 'create')
  try {
    file.write(0, encodePreamble(number, logId, owner))
    const encoder = new GroupEncoder()
    let [at, seed, sequence] = [preambleBytes, 0, log.sequence]
    const begin = (): void => encoder.begin({ logId, segment: number, sequence, seed })
    const finish = (): void => {
      const { bytes, chain } = encoder.finish()
      file.write(at, bytes)
      at += bytes.length
      seed = chain
      sequence++
    }
    begin()
    encoder.meta('base', base)
    encoder.tail(base)
    encoder.hardState(log.hardState)
    finish()
    let bytes = 0
    for (const entry of log.entries) {
      if (bytes === 0) begin()
      encoder.entry(entry)
      bytes += entryBytes(entry)
      if (bytes < groupBytesWanted) continue
      finish()
      bytes = 0
    }
    if (bytes > 0) finish()
    file.sync()
  } finally {
    file.close()
  }
  disk.rename(unfinished, segmentName(number))
  disk.syncDirectory()
  for (const name of disk.list()) if ((segmentNumber(name) ?? number) < number) disk.remove(name)
  disk.syncDirectory()
}
