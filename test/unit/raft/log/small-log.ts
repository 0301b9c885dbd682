import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Entry } from '../../../../raft/core/types.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import type { WalOptions } from '../../../../raft/log/wal.ts'
import { hard, write } from '../../../conformance/log-store.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'

export const ours = nodeId(7)

export function smallWalOptions(disk: SimulatedDisk): WalOptions {
  const random = new SeededRandom(99)
  return { disk, random, owner: ours, segmentBytes: 5 * 1024, aheadBytes: 2 * 1024 }
}

export function openSmallWal(disk: SimulatedDisk): Wal {
  return Wal.open(smallWalOptions(disk))
}

/**
 * Returns a log of four segments with entries of text, and entries with one byte among zeros that
 * fill whole sectors.
 */
export function smallLog(end: 'closed' | 'killed'): SimulatedDisk {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = openSmallWal(disk)
  const sparse = new Uint8Array(1500)
  sparse[1020] = 1
  const data = (index: number): Uint8Array => {
    if (index % 3 === 0 || index === 11) return sparse
    return new TextEncoder().encode(`entry ${index} `.repeat(index % 3 === 1 ? 60 : 4))
  }
  const entry = (index: number, at: number): Entry => {
    return { index: logIndex(index), term: term(at), kind: 'command', data: data(index) }
  }
  for (let index = 1; index <= 10; index++) {
    wal.append([write([entry(index, 1)], hard(1, 2, index - 1))])
    wal.prepare()
  }
  // Votes are the last records of both logs, so that a lost tail is a lost vote.
  wal.append([write([], hard(2, 3, 10))])
  wal.append([write([entry(11, 2)], hard(3, 1, 10))])
  if (end === 'closed') wal.close()
  return disk
}

export function spoiled(
  disk: SimulatedDisk,
  name: string,
  change: (bytes: Uint8Array) => Uint8Array,
): SimulatedDisk {
  const other = disk.copy(new SeededRandom(2))
  other.put(name, change(other.contents(name).slice()))
  return other
}
