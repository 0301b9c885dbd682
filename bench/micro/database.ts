/*
 * Measures how the cost of the database depends on the flush delay: versions of 1 KB are applied in
 * batches as they arrive, and flushed to the database after a delay, for several delays. The CPU
 * per version is that of the whole process, which includes applying.
 *
 *   node dist/bench/micro/database.js [--rate 500] [--gather 20,100] [--seconds 3] [--rounds 4]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { logIndex, noIndex, noSnapshot } from '../../raft/index.ts'
import type { Entry } from '../../raft/index.ts'
import { LevelKeyValueDatabases } from '../../src/store/disk/level-key-value-store.ts'
import { defaultStoreLimits } from '../../src/store/store-limits.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import { configMapKey, LogWriter, ownSession, put, write } from '../../fixtures/store-kit.ts'
import { systemClock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({
  options: {
    rate: { type: 'string', default: '500' },
    gather: { type: 'string', default: '20,100' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '4' },
  },
})
const rate = Number(options.rate)
const versions = rate * Number(options.seconds)
const gathers = options.gather.split(',').map(Number)
/** Typical number of commands per commit of the raft thread. */
const turnEntries = 8

const entries = entriesOf(versions)
const results = new Map<number, number[]>(gathers.map((gatherMs) => [gatherMs, []]))
for (let round = 0; round < Number(options.rounds); round++) {
  // Alternating, because a shared machine changes over time.
  for (const gatherMs of round % 2 === 0 ? gathers : [...gathers].reverse()) {
    results.get(gatherMs)?.push(await cpuUsOfOne(gatherMs))
  }
}
console.log(
  `${rate} versions of 1 KB a second, node ${process.version}: CPU for one, median (lowest-highest)`,
)
for (const [gatherMs, each] of results) {
  const sorted = [...each].sort((a, b) => a - b)
  const [least, median, most] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map((at) =>
    (sorted[at] ?? 0).toFixed(1),
  )
  console.log(`  batched for ${gatherMs} ms: ${median} us (${least}-${most})`)
}

function entriesOf(count: number): readonly Entry[] {
  const log = new LogWriter(noIndex)
  const value = 'v'.repeat(1000)
  for (let at = 0; at < count; at++)
    log.command(write(put(configMapKey(`object-${at}`, `n${at % 7}`), value)))
  return log.entries
}

async function cpuUsOfOne(gatherMs: number): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'orch-database-bench-'))
  const machine = await StoreMachine.open({
    databases: new LevelKeyValueDatabases(directory),
    clock: systemClock,
    limits: { ...defaultStoreLimits, batchGatherMs: gatherMs },
    logBase: noSnapshot,
    logLast: logIndex(Number.MAX_SAFE_INTEGER),
    onFailure: (cause: unknown): never => {
      throw cause
    },
  })
  try {
    const before = process.cpuUsage()
    await applyPaced(machine)
    await machine.flushed()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / versions
  } finally {
    await machine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function applyPaced(machine: StoreMachine): Promise<void> {
  const startedMs = performance.now()
  for (let at = 0; at < versions;) {
    const due = Math.min(versions, Math.floor(((performance.now() - startedMs) * rate) / 1000))
    while (at < due) {
      const end = Math.min(due, at + turnEntries)
      machine.apply(entries.slice(at, end), ownSession)
      machine.logPersisted(logIndex(end))
      at = end
    }
    await sleep(2)
  }
}
