/*
 * Goal: all implementations of LogStore behave the same.
 * Method: the suite of `log-store.ts` on the file log (real and simulated disk, large and tiny
 * segments) and on the log in memory.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SeededRandom } from '../../base/random.ts'
import { FileDisk } from '../../raft/log/file-disk.ts'
import { MemoryLog } from '../../raft/log/memory-log.ts'
import { Wal } from '../../raft/log/wal.ts'
import type { LogDisk, LogStore } from '../../raft/ports.ts'
import { SimulatedDisk } from '../simulation/disk.ts'
import { logStoreSuite } from './log-store.ts'
import type { LogStoreUnderTest } from './log-store.ts'

logStoreSuite('memory', () => ({
  open: () => new MemoryLog(),
  reopen: (store) => {
    if (!(store instanceof MemoryLog)) throw new Error('not a log in memory')
    return new MemoryLog(store)
  },
  destroy: () => undefined,
}))

logStoreSuite('file log', () => onRealDisk(64 * 1024 * 1024))
logStoreSuite('file log of tiny segments', () => onRealDisk(2048))
logStoreSuite('file log on a simulated disk', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  return wal(disk, 4096, () => undefined)
})

function onRealDisk(segmentBytes: number): LogStoreUnderTest {
  const directory = mkdtempSync(join(tmpdir(), 'log-store-'))
  return wal(new FileDisk(directory), segmentBytes, () => rmSync(directory, { recursive: true }))
}

function wal(disk: LogDisk, segmentBytes: number, cleanUp: () => void): LogStoreUnderTest {
  const opened: LogStore[] = []
  const open = (): LogStore => {
    const store = Wal.open({ disk, random: new SeededRandom(7), segmentBytes, aheadBytes: 8192 })
    store.prepare()
    opened.push(store)
    return store
  }
  return {
    open,
    reopen: (store) => {
      store.close()
      return open()
    },
    destroy: () => {
      for (const store of opened) store.close()
      cleanUp()
    },
  }
}
