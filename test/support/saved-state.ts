import { SeededRandom } from '../../raft/base/random.ts'
import { SnapshotSaver } from '../../src/backup/save-snapshot.ts'
import type { FileBytes } from '../../src/backup/snapshot-file.ts'
import type { Secret } from '../../src/backup/chunk-seal.ts'
import { MemoryKeyValueHome } from '../../src/store/disk/memory-key-value-store.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import { ManualClock } from './manual-clock.ts'
import { bootstrapOf, randomCommand } from '../../fixtures/store-commands.ts'
import { LogWriter } from '../../fixtures/store-kit.ts'
import { applyUpTo, chunksOf, openMachine } from './store-machines.ts'

/** A founded state of random commands, and the stream a member would give of it. The caller closes the machine. */
export async function streamOf(
  seed: number,
  commands: number,
): Promise<{ readonly machine: StoreMachine; readonly chunks: readonly Uint8Array[] }> {
  const random = new SeededRandom(seed)
  const log = new LogWriter()
  log.command(bootstrapOf('c1', { featureLevel: 2 }))
  while (log.last < commands) log.command(randomCommand(random, log.last), { session: 1 + random.below(3) })
  const clock = new ManualClock()
  const machine = await openMachine({ home: new MemoryKeyValueHome(), clock })
  applyUpTo(machine, log, log.last)
  await clock.advance(1000)
  return { machine, chunks: await chunksOf(await machine.produceSnapshot(null)) }
}

/** A snapshot file of a stream. */
export function fileOf(chunks: readonly Uint8Array[], secret: Secret | null, seed = 5): Buffer {
  const written: Uint8Array[] = []
  const saver = new SnapshotSaver({
    name: 'the stream',
    clusterName: 'test',
    savedAt: '2026-11-21T20:00:00.000Z',
    program: '0.1.0',
    secret,
    random: new SeededRandom(seed),
    write: (bytes) => written.push(Uint8Array.from(bytes)),
  })
  for (const chunk of chunks) saver.take(chunk)
  saver.finish()
  return Buffer.concat(written)
}

export function bytesOf(file: Buffer): FileBytes {
  return { size: () => file.length, read: (at, length) => file.subarray(at, at + length) }
}
