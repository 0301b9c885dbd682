/*
 * Measures the cost of the storage quota at apply: the same creates and updates of 1 KB are applied
 * at feature level 1, which has no quota, and at level 2; and the cost of counting bytes, which
 * both levels do.
 *
 *   node --expose-gc dist/bench/micro/quota.js [--objects 20000] [--rounds 15]
 *
 * CPU of the process per operation: median of the rounds, minimum and maximum in brackets. Both
 * levels are measured in each round, in alternating order, so that other load affects both;
 * differences are taken within a round.
 */
import { parseArgs } from 'node:util'
import type { Entry } from '../../raft/index.ts'
import { Machine } from '../../src/store/machine/machine.ts'
import { emptyState } from '../../src/store/machine/state.ts'
import { StorageUsage } from '../../src/store/machine/storage-usage.ts'
import { putVersion } from '../../src/store/machine/object-version.ts'
import { noRevision, revision } from '../../src/store/revision.ts'
import { bootstrapOf, smallSettings } from '../../fixtures/store-commands.ts'
import { configMapKey, encoded, LogWriter, ownSession, write } from '../../fixtures/store-kit.ts'

const { values: options } = parseArgs({
  options: { objects: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '15' } },
})
const objects = Number(options.objects)
const rounds = Number(options.rounds)
const object = encoded('v'.repeat(850), { uid: 'u', labels: { app: 'bench', tier: 'one' } })
const keys = Array.from({ length: objects }, (_, at) => configMapKey(`object-${at}`, `n${at % 100}`))
/** Each key is put twice: the first put creates the object, the second one updates it. */
const operations = 2 * objects
const samples = { off: [], on: [], difference: [], counting: [] } as Record<string, number[]>

const logs = { off: logAt(1), on: logAt(2) }
applied(logs.off)
applied(logs.on)
for (let round = 0; round < rounds; round++) {
  const taken = round % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)
  const cost = { off: 0, on: 0 }
  for (const which of taken) cost[which] = applied(logs[which])
  note('off', cost.off)
  note('on', cost.on)
  note('difference', cost.on - cost.off)
  note('counting', counted())
}
console.log(`${objects} creates and as many updates of 1 KB, ${rounds} rounds, node ${process.version}`)
report('apply, no quota (level 1)', 'off')
report('apply, quota (level 2)', 'on')
report('  difference within a round', 'difference')
report('counting bytes, in both', 'counting')

function logAt(featureLevel: 1 | 2): readonly Entry[] {
  const writer = new LogWriter()
  const settings = { ...smallSettings, storageBytesMax: featureLevel === 1 ? null : 2 ** 40 }
  writer.command(bootstrapOf('bench', { featureLevel, settings }))
  for (const key of [...keys, ...keys]) writer.command(write({ kind: 'put', key, conditions: [], object }))
  return writer.entries
}

/** @returns microseconds of CPU per operation */
function applied(entries: readonly Entry[]): number {
  const machine = new Machine(emptyState())
  return cpuUs(() => {
    for (let at = 0; at < entries.length; at += 32) {
      machine.apply(entries.slice(at, at + 32), ownSession)
      machine.takeChanges()
    }
    if (machine.state.revision !== operations) throw new Error('a write was refused')
  })
}

function counted(): number {
  const versions = keys.map((key, at) => {
    const place = { key, revision: revision(at + 1), previous: noRevision, lastOfCommand: true }
    return putVersion(place, object)
  })
  const usage = new StorageUsage()
  return cpuUs(() => {
    for (const version of versions) usage.put(version, null)
    for (const version of versions) usage.put(version, version)
    if (usage.largestPlaces().length === 0) throw new Error('nothing was counted')
  })
}

function cpuUs(work: () => void): number {
  globalThis.gc?.()
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / operations
}

function note(what: string, us: number): void {
  samples[what]?.push(us)
}

function report(what: string, of: string): void {
  const sorted = [...(samples[of] ?? [])].sort((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2)
  console.log(`  ${what.padEnd(30)} ${at(0.5).padStart(6)} us (${at(0)} to ${at(1)})`)
}
