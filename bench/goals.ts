/*
 * Measures every row of the table of goals in docs/benchmarks.md, and prints the table with a
 * column "now": the median of the rounds, with the lowest and the highest. The machine must have
 * nothing else to do. Three rounds take 35 minutes, most of them for memory.
 *
 *   node dist/bundle/bench/goals.js [--rounds 3] [--seconds 5] [--idle-seconds 30]
 *     [--objects 50000] [--load-seconds 300] [--only idle,calls,watches,failover,starts,memory]
 *
 * --objects, --load-seconds: for memory, the number of objects and how long 64 clients write.
 */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeDirectoriesSync } from '../base/make-directories.ts'
import { localServers } from '../src/cli/bench-local.ts'
import { MachineClock } from '../src/host/machine-clock.ts'
import { pause } from '../tools/verify/pause.ts'
import { GoalTable } from './goal-table.ts'
import { measureMemory } from './memory-of-objects.ts'
import { OwnCluster, takeDown, terminal } from './own-cluster.ts'
import { startOnce } from './start-times.ts'
import type { BenchContext } from './tool/context.ts'
import { Generator } from './tool/generator/generator.ts'
import { labelOf } from './tool/load.ts'
import type { FailoverFault, Load } from './tool/load.ts'
import { Namespaces } from './tool/namespaces.ts'
import { cpuMsOf } from './tool/process-usage.ts'
import { runCalls } from './tool/run-calls.ts'
import { runFailover } from './tool/run-failover.ts'
import { runWatch } from './tool/run-watch.ts'
import { Target } from './tool/target.ts'

const parts = ['idle', 'calls', 'watches', 'failover', 'starts', 'memory'] as const
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    'idle-seconds': { type: 'string', default: '30' },
    objects: { type: 'string', default: '50000' },
    'load-seconds': { type: 'string', default: '300' },
    only: { type: 'string', default: parts.join(',') },
  },
})
const rounds = Number(options.rounds)
const selected = new Set(options.only.split(','))
for (const part of selected) {
  if (!parts.some((known) => known === part))
    throw new Error(`--only: unknown part ${part}; known: ${parts.join(', ')}`)
}
/** After this time the engine has compiled the code and collected the garbage of the start. */
const idleAfterMs = 150_000
/** Time in which a changed cluster settles before it is measured. */
const settleMs = 5000

const results = resolve('.build/bench')
const directory = `${results}/goals-cluster`
const clock = new MachineClock()
const table = new GoalTable()
const http = '1.1' as const
const writes = { place: 'leader', objectBytes: 1000, http } as const
const lists = { kind: 'list', place: 'follower', objects: 1000, clients: 8, http } as const

makeDirectoriesSync(results)
if (selected.has('idle')) await idle()
if (selected.has('calls') || selected.has('watches') || selected.has('failover')) await loads()
if (selected.has('starts')) await starts()
if (selected.has('memory')) await memory()
for (const line of table.lines()) console.log(line)

/** CPU of members without clients, with the settings of every new cluster. */
async function idle(): Promise<void> {
  await withCluster({ leaseReads: false }, async ({ pids }) => {
    const periodMs = Number(options['idle-seconds']) * 1000
    terminal.note(`idle: waiting ${idleAfterMs / 1000} s, then ${rounds} times ${periodMs / 1000} s`)
    await pause(clock, idleAfterMs)
    for (let round = 0; round < rounds; round++) {
      const [beginMs, beginCpuMs] = [clock.monotonicMs(), cpuOf(pids())]
      await pause(clock, periodMs)
      const share = (cpuOf(pids()) - beginCpuMs) / (clock.monotonicMs() - beginMs)
      table.add('idle', 100 * share)
    }
  })
}

async function loads(): Promise<void> {
  await withCluster({ leaseReads: true }, async ({ context }) => {
    if (selected.has('calls')) {
      await calls(context, 0)
      for (let round = 1; round <= rounds; round++) await calls(context, round)
    }
    for (let round = 1; round <= rounds && selected.has('watches'); round++) await watches(context)
    for (let round = 1; round <= rounds && selected.has('failover'); round++) {
      for (const fault of ['kill', 'pause', 'stop'] as const) await failover(context, fault)
    }
  })
}

/** @param round 0: warms up, and is not noted */
async function calls(context: BenchContext, round: number): Promise<void> {
  const measured = async (
    load: Parameters<typeof runCalls>[1],
  ): Promise<Record<'cpu' | 'p50' | 'rate', number>> => {
    const { sample, failures } = await runCalls(context, load, `${round}`)
    for (const { words, count } of failures) terminal.note(`${labelOf(load)}: ${count} x ${words}`)
    const [cpu, p50, rate] = [sample.serverCpuMs ?? NaN, sample.p50Ms ?? NaN, sample.perSecond ?? NaN]
    terminal.note(
      `${labelOf(load)}: ${rate.toFixed(0)}/s, p50 ${p50.toFixed(2)} ms, CPU ${cpu.toFixed(3)} ms`,
    )
    return { cpu, p50, rate }
  }
  const get = (mode: 'linearizable' | 'any', clients: number): Load & { readonly kind: 'get' } => ({
    ...{ kind: 'get', mode, place: 'leader', objectBytes: 1000, clients, http },
  })
  const found = {
    floor: await measured({ kind: 'livez', place: 'all', clients: 64, http }),
    createOne: await measured({ kind: 'create', ...writes, clients: 1 }),
    getOne: await measured(get('linearizable', 1)),
    create: await measured({ kind: 'create', ...writes, clients: 64 }),
    update: await measured({ kind: 'update', ...writes, clients: 32 }),
    mostRecent: await measured(get('linearizable', 64)),
    any: await measured(get('any', 64)),
    listMostRecent: await measured({ ...lists, mode: 'linearizable', page: null }),
    listAny: await measured({ ...lists, mode: 'any', page: null }),
    pages: await measured({ ...lists, mode: 'linearizable', page: 500 }),
  }
  if (round === 0) return
  table.add('floor', found.floor.cpu)
  table.add('createOneP50', found.createOne.p50)
  table.add('createOneCpu', found.createOne.cpu)
  table.add('getOneP50', found.getOne.p50)
  table.add('getOneCpu', found.getOne.cpu)
  table.add('createRate', found.create.rate)
  table.add('createCpu', found.create.cpu)
  table.add('updateRate', found.update.rate)
  table.add('updateCpu', found.update.cpu)
  table.add('mostRecentRate', found.mostRecent.rate)
  table.add('mostRecentCpu', found.mostRecent.cpu)
  table.add('anyRate', found.any.rate)
  table.add('anyCpu', found.any.cpu)
  table.add('listMostRecentCpu', found.listMostRecent.cpu)
  table.add('listAnyCpu', found.listAny.cpu)
  table.add('pagesCpu', found.pages.cpu)
}

async function watches(context: BenchContext): Promise<void> {
  const at = { kind: 'watch', place: 'follower', slow: 0 } as const
  const few = await runWatch(context, { ...at, fast: 100, perSecond: 100 })
  table.add('watch100Cpu', few.sample.serverCpuMs ?? NaN)
  const many = await runWatch(context, { ...at, fast: 1000, perSecond: 20 })
  table.add('watch1000Cpu', many.sample.serverCpuMs ?? NaN)
  table.add('watch1000P99', many.sample.p99Ms ?? NaN)
  terminal.note(
    `watches: ${few.sample.serverCpuMs?.toFixed(3)} and ${many.sample.serverCpuMs?.toFixed(3)} ms`,
  )
}

async function failover(context: BenchContext, fault: FailoverFault): Promise<void> {
  await pause(clock, settleMs)
  const { sample } = await runFailover(context, { kind: 'failover', fault })
  const gapMs = sample.writeGapMs ?? NaN
  terminal.note(`leader, ${fault}: no write for ${gapMs.toFixed(0)} ms`)
  table.add(fault, gapMs / 1000)
}

async function starts(): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const seconds = (measured: ReadonlyMap<string, number>, what: string): number =>
      (measured.get(`${what}, ms`) ?? NaN) / 1000
    const measured = await startOnce(`${results}/goals-starts`)
    table.add('startInMemory', seconds(measured, 'in memory'))
    table.add('startDurable', seconds(measured, 'one durable member, its first start'))
    table.add('startThree', seconds(measured, 'three new members, by orchctl cluster up'))
  }
}

async function memory(): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await withCluster({ leaseReads: false }, async ({ context }) => {
      await pause(clock, settleMs)
      const load = { objects: Number(options.objects), loadSeconds: Number(options['load-seconds']) }
      const { idle: idleTimes, loaded } = await measureMemory(context, load)
      table.add('memoryIdle', idleTimes)
      table.add('memoryLoaded', loaded)
    })
  }
}

type Running = { readonly context: BenchContext; readonly pids: () => readonly number[] }

/** Starts a cluster of three, and removes it at the end. */
async function withCluster(
  how: { readonly leaseReads: boolean },
  measure: (running: Running) => Promise<void>,
): Promise<void> {
  const generator = new Generator(availableParallelism())
  try {
    const { endpoints } = await OwnCluster.up(directory, how)
    const local = localServers(terminal, directory, endpoints)
    if (local === null) throw new Error('the cluster did not start')
    const namespaces = new Namespaces(endpoints, clock, 'goals')
    const { name } = await namespaces.make('probe')
    const target = await Target.probe(endpoints, local, `/api/v1/namespaces/${name}`)
    const seconds = Number(options.seconds)
    const context = { target, generator, namespaces, clock, seconds, note: terminal.note }
    await measure({ context, pids: () => local.pids() })
  } finally {
    generator.close()
    await takeDown(directory)
  }
}

function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (cpuMsOf(pid) ?? NaN), 0)
}
