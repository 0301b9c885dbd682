/*
 * Measures the state machine of one member without network and consensus: applying puts of 1 KB,
 * reading lists, delivering events to watchers, restarting.
 *
 *   node dist/bench/micro/apply.js [--objects 50000] [--level]
 *
 * --level: the database is LevelDB on disk instead of memory. Times are elapsed times unless they
 * are called CPU. Memory is measured after a garbage collection (use --expose-gc).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { logIndex, noIndex, noSnapshot } from '../../raft/index.ts'
import { LevelKeyValueDatabases } from '../../src/store/disk/level-key-value-store.ts'
import type { KeyValueDatabases } from '../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../src/store/disk/memory-key-value-store.ts'
import { prefixOf } from '../../src/store/key.ts'
import { defaultStoreLimits } from '../../src/store/store-limits.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import { Store } from '../../src/store/store.ts'
import { LocalConsensus } from '../../fixtures/local-consensus.ts'
import { configMapKey, configMapsOf, LogWriter, ownSession, put, write } from '../../fixtures/store-kit.ts'
import { systemClock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({
  options: { objects: { type: 'string', default: '50000' }, level: { type: 'boolean', default: false } },
})
const objects = Number(options.objects)
const clock = systemClock
const limits = defaultStoreLimits
const value = 'v'.repeat(900)

const directory = mkdtempSync(join(tmpdir(), 'orch-bench-'))
const databases: KeyValueDatabases = options.level
  ? new LevelKeyValueDatabases(directory)
  : new MemoryKeyValueDatabases()
try {
  await run(databases)
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function run(databases: KeyValueDatabases): Promise<void> {
  console.log(
    `${objects} objects of 1 KB, ${options.level ? 'LevelDB' : 'in memory'}, node ${process.version}`,
  )
  const empty = heldMiB()
  const machine = await open(databases)
  const log = logOfPuts()
  await applyAll(machine, log)
  log.entries.length = 0
  console.log(`  memory above the empty state: ${(heldMiB() - empty).toFixed(0)} MiB`)
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits })
  await updates(store)
  lists(store)
  await watchers(store)
  store.close()
  await machine.close()
  const started = performance.now()
  const again = await open(databases)
  report('start: read and verify everything', performance.now() - started, objects)
  await again.close()
}

function open(databases: KeyValueDatabases): Promise<StoreMachine> {
  const onFailure = (cause: unknown): never => {
    throw cause
  }
  const logLast = logIndex(Number.MAX_SAFE_INTEGER)
  return StoreMachine.open({ databases, clock, limits, logBase: noSnapshot, logLast, onFailure })
}

function logOfPuts(): LogWriter {
  const log = new LogWriter(noIndex)
  for (let at = 0; at < objects; at++) {
    log.command(write(put(keyAt(at), value, { kind: 'absent' })))
  }
  return log
}

async function applyAll(machine: StoreMachine, log: LogWriter): Promise<void> {
  const started = performance.now()
  const cpu = process.cpuUsage()
  let applying = 0
  for (let at = 0; at < log.entries.length;) {
    if (machine.capacity <= 0) {
      await turn()
      continue
    }
    const batch = log.entries.slice(at, at + 32)
    const before = performance.now()
    machine.apply(batch, ownSession)
    applying += performance.now() - before
    at += batch.length
    machine.logPersisted(logIndex(at))
    if (at % 320 === 0) await turn()
  }
  report('apply in memory', applying, objects)
  await machine.flushed()
  report('apply until on disk', performance.now() - started, objects)
  const { user, system } = process.cpuUsage(cpu)
  report('  CPU of the process', (user + system) / 1000, objects)
}

async function updates(store: Store): Promise<void> {
  const count = 20_000
  const started = performance.now()
  for (let at = 0; at < count; at++)
    await store.write(write(put(keyAt(at % objects), value, { kind: 'exists' })), 0)
  report('update, through propose and apply', performance.now() - started, count)
}

function lists(store: Store): void {
  const prefix = configMapsOf('n0')
  const count = 200
  const started = performance.now()
  let found = 0
  for (let at = 0; at < count; at++)
    found += store.view().list(prefix, { after: null, limit: 1000 }).objects.length
  report(`list of ${found / count}`, performance.now() - started, count)
  const gets = 200_000
  const before = performance.now()
  for (let at = 0; at < gets; at++) store.view().get(keyAt(at % objects))
  report('get', performance.now() - before, gets)
}

/** The watchers of ConfigMaps receive every event, those of Pods none. */
async function watchers(store: Store): Promise<void> {
  const [awake, asleep, events] = [10_000, 5_000, 20]
  let taken = 0
  let longestMs = 0
  for (let at = 0; at < awake + asleep; at++) {
    const prefix = at < awake ? configMapsOf('n1') : prefixOf({ group: '', plural: 'pods', namespace: 'n1' })
    const cursor = store.watch(prefix, store.view().revision)
    const wake = (): void => {
      const next = cursor.next(100)
      if (!(next instanceof Promise)) taken += next.length
      cursor.onMore(wake)
    }
    cursor.onMore(wake)
  }
  const started = performance.now()
  for (let at = 0; at < events; at++) {
    await store.write(write(put(configMapKey(`w${at}`, 'n1'), value)), 0)
    while (taken < awake * (at + 1)) {
      // CPU time: on a shared machine wall time includes other processes.
      const before = process.cpuUsage()
      await turn()
      const { user, system } = process.cpuUsage(before)
      longestMs = Math.max(longestMs, (user + system) / 1000)
    }
  }
  report(`event to each of ${awake} watchers`, performance.now() - started, awake * events)
  console.log(`  longest turn: ${longestMs.toFixed(1)} ms of CPU`)
}

function keyAt(at: number): ReturnType<typeof configMapKey> {
  return configMapKey(`object-${String(at).padStart(7, '0')}`, `n${Math.floor(at / 1000)}`)
}

function report(what: string, ms: number, count: number): void {
  const each = ((ms * 1000) / count).toFixed(2).padStart(9)
  const rate = Math.round((count * 1000) / ms).toLocaleString('en')
  console.log(`  ${what.padEnd(36)} ${each} us each, ${rate}/s`)
}

function heldMiB(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1024 / 1024
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
