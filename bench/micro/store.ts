/*
 * Measures the cost of the state machine in one process: CPU of creates, updates, gets and lists of
 * objects of 1 KB. Writes include the batches for the database, which forgets them.
 *
 *   node --expose-gc dist/bench/micro/store.js [--objects 50000] [--rounds 5]
 *
 * CPU is that of all threads of the process, including garbage collection, and the median of the
 * rounds. Memory is that at the end of a round, with the history of its updates.
 */
import { parseArgs } from 'node:util'
import { noIndex, noSnapshot } from '../../raft/index.ts'
import { formatTable } from '../../src/cli/terminal.ts'
import type { KeyValueStore } from '../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../src/store/disk/memory-key-value-store.ts'
import { defaultStoreLimits } from '../../src/store/store-limits.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import type { EncodedObject } from '../../src/store/command.ts'
import {
  allConfigMaps,
  configMapKey,
  encoded,
  LogWriter,
  ownSession,
  write,
} from '../../fixtures/store-kit.ts'
import { systemClock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({
  options: { objects: { type: 'string', default: '50000' }, rounds: { type: 'string', default: '5' } },
})
const [objects, rounds] = [Number(options.objects), Number(options.rounds)]

/** A database whose contents take no memory. */
class ForgetfulDatabases extends MemoryKeyValueDatabases {
  override async open(name: string): Promise<KeyValueStore> {
    const store = await super.open(name)
    return {
      getMany: (keys) => store.getMany(keys),
      write: async () => undefined,
      snapshot: () => store.snapshot(),
      compact: () => store.compact(),
      close: () => store.close(),
    }
  }
}

const cpuUs = new Map<string, number[]>()
for (let round = 0; round < rounds; round++) await measureRound()
const lines = [['', 'CPU us for one object']]
for (const [what, all] of cpuUs) {
  const median = all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? NaN
  lines.push([what, (median / objects).toFixed(3)])
}
for (const line of formatTable(lines)) console.log(line)

async function measureRound(): Promise<void> {
  const machine = await StoreMachine.open({
    ...{ databases: new ForgetfulDatabases(), clock: systemClock, limits: defaultStoreLimits },
    ...{ logBase: noSnapshot, logLast: noIndex },
    onFailure: (cause) => {
      throw cause
    },
  })
  let log = new LogWriter()
  const sums = new Map<string, number>()
  const writeAll = async (value: string): Promise<void> => {
    for (let from = 0; from < objects; from += 1000) {
      log = new LogWriter(log.last)
      for (let at = from; at < Math.min(objects, from + 1000); at++) {
        // Updates are in another order than creates.
        const key = configMapKey(`object-${value === 'create' ? at : (at * 7919) % objects}`)
        const command = write({ kind: 'put', key, conditions: [], object: objectOf(at, value) })
        log.command(command, { sequence: log.last + 1 })
      }
      await cpuOf(sums, value, async () => {
        for (const entry of log.entries) machine.apply([entry], ownSession)
        machine.logPersisted(log.last)
        await machine.flushed()
      })
    }
  }
  const keys = Array.from({ length: objects }, (_, at) => configMapKey(`object-${at}`))
  await writeAll('create')
  await writeAll('update')
  await writeAll('update again')
  const { state } = machine
  let bytes = 0
  await cpuOf(sums, 'get', () => {
    for (const key of keys) bytes += state.objects.get(key)?.bytes.byteLength ?? 0
  })
  const piece = Buffer.alloc(16 * 1024)
  await cpuOf(sums, 'list', () => {
    for (const stored of state.objects.list(allConfigMaps, null, null).objects) {
      bytes += stored.copyTo(piece, 0, stored.itemOffset)
    }
  })
  if (bytes < 2 * 1000 * objects) throw new Error('nothing was read')
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  process.stdout.write(
    `heap ${(heapUsed / 2 ** 20).toFixed(0)} MiB, buffers ${(arrayBuffers / 2 ** 20).toFixed(0)} MiB\n`,
  )
  await machine.close()
  for (const [what, sum] of sums) cpuUs.set(what, [...(cpuUs.get(what) ?? []), sum])
}

/** Adds the CPU of `work` to the round. */
async function cpuOf(
  sums: Map<string, number>,
  what: string,
  work: () => void | Promise<void>,
): Promise<void> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  sums.set(what, (sums.get(what) ?? 0) + user + system)
}

function objectOf(at: number, value: string): EncodedObject {
  const plain = encoded(value)
  const fields = `{"f:data":{".":{},"f:payload":{}},"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`
  const time = `2026-01-02T03:${10 + (at % 50)}:05Z`
  const entry = `{"manager":"bench","operation":"Update","apiVersion":"v1","time":"${time}","fieldsType":"FieldsV1","fieldsV1":${fields}}`
  const more = `,"owners":{"managedFields":[${entry}]},"payload":"${String(at).padStart(700, 'x')}"}`
  return {
    ...plain,
    bytes: Buffer.concat([plain.bytes.subarray(0, -1), Buffer.from(more)]),
    labels: { app: `app-${at % 100}` },
  }
}
