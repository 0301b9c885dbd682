/*
 * Measures every row of the table of goals in docs/benchmarks.md, and prints the table with a
 * column "now": the median of the rounds, with the lowest and the highest. The machine must have
 * nothing else to do. Three rounds take 35 minutes, most of them for memory.
 *
 *   node dist/bundle/bench/goals.js [--rounds 3] [--seconds 5] [--idle-seconds 30]
 *     [--objects 50000] [--load-seconds 300] [--only idle,calls,watches,failover,starts,memory]
 *     [--compare DIR]
 *
 * --objects, --load-seconds: for memory, the number of objects and how long 64 clients write.
 * --compare: the directory dist/bundle of a compiled checkout of another commit. Everything but
 * failover is measured for both, part by part, and the table has their ratio. If the other commit
 * is 52ececc, this ratio is compared with that of the goal: the speed of the machine does not
 * matter.
 */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeDirectoriesSync } from '../base/make-directories.ts'
import { localServers } from '../src/cli/bench-local.ts'
import type { Endpoint } from '../src/credentials/endpoint.ts'
import { MachineClock } from '../src/host/machine-clock.ts'
import { pause } from '../tools/verify/pause.ts'
import { GoalTable } from './goal-table.ts'
import type { Figure, Side } from './goal-table.ts'
import { measureMemory } from './memory-of-objects.ts'
import { serversIn, startOther, takeDownOther } from './other-cluster.ts'
import { OwnCluster, takeDown, terminal } from './own-cluster.ts'
import { ownPrograms, programsIn } from './programs.ts'
import type { Programs } from './programs.ts'
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
import type { LocalServers } from './tool/target.ts'

const parts = ['idle', 'calls', 'watches', 'failover', 'starts', 'memory'] as const
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    'idle-seconds': { type: 'string', default: '30' },
    objects: { type: 'string', default: '50000' },
    'load-seconds': { type: 'string', default: '300' },
    only: { type: 'string', default: parts.join(',') },
    compare: { type: 'string' },
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

const other = options.compare === undefined ? null : programsIn(options.compare)
const sides: readonly Side[] = other === null ? ['now'] : ['before', 'now']

makeDirectoriesSync(results)
if (selected.has('idle')) for (const side of sides) await idle(side)
if (selected.has('calls') || selected.has('watches')) for (const side of sides) await loads(side)
if (selected.has('failover')) await failovers()
if (selected.has('starts')) await starts()
if (selected.has('memory')) await memory()
for (const line of table.lines()) console.log(line)

/** CPU of members without clients, with the settings of every new cluster. */
async function idle(side: Side): Promise<void> {
  await withCluster(side, async ({ pids }) => {
    const periodMs = Number(options['idle-seconds']) * 1000
    terminal.note(`idle: waiting ${idleAfterMs / 1000} s, then ${rounds} times ${periodMs / 1000} s`)
    await pause(clock, idleAfterMs)
    for (let round = 0; round < rounds; round++) {
      const [beginMs, beginCpuMs] = [clock.monotonicMs(), cpuOf(pids())]
      await pause(clock, periodMs)
      const share = (cpuOf(pids()) - beginCpuMs) / (clock.monotonicMs() - beginMs)
      table.add('idle', 100 * share, side)
    }
  })
}

async function loads(side: Side): Promise<void> {
  await withCluster(side, async ({ context }) => {
    if (selected.has('calls')) {
      await calls(side, context, 0)
      for (let round = 1; round <= rounds; round++) await calls(side, context, round)
    }
    for (let round = 1; round <= rounds && selected.has('watches'); round++) await watches(side, context)
  })
}

async function failovers(): Promise<void> {
  await withCluster('now', async ({ context }) => {
    for (let round = 1; round <= rounds; round++) {
      for (const fault of ['kill', 'pause', 'stop'] as const) await failover(context, fault)
    }
  })
}

/** @param round 0: warms up, and is not noted */
async function calls(side: Side, context: BenchContext, round: number): Promise<void> {
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
  const note = (figure: Figure, value: number): void => table.add(figure, value, side)
  note('floor', found.floor.cpu)
  note('createOneP50', found.createOne.p50)
  note('createOneCpu', found.createOne.cpu)
  note('getOneP50', found.getOne.p50)
  note('getOneCpu', found.getOne.cpu)
  note('createRate', found.create.rate)
  note('createCpu', found.create.cpu)
  note('updateRate', found.update.rate)
  note('updateCpu', found.update.cpu)
  note('mostRecentRate', found.mostRecent.rate)
  note('mostRecentCpu', found.mostRecent.cpu)
  note('anyRate', found.any.rate)
  note('anyCpu', found.any.cpu)
  note('listMostRecentCpu', found.listMostRecent.cpu)
  note('listAnyCpu', found.listAny.cpu)
  note('pagesCpu', found.pages.cpu)
}

async function watches(side: Side, context: BenchContext): Promise<void> {
  const at = { kind: 'watch', place: 'follower', slow: 0 } as const
  const few = await runWatch(context, { ...at, fast: 100, perSecond: 100 })
  table.add('watch100Cpu', few.sample.serverCpuMs ?? NaN, side)
  const many = await runWatch(context, { ...at, fast: 1000, perSecond: 20 })
  table.add('watch1000Cpu', many.sample.serverCpuMs ?? NaN, side)
  table.add('watch1000P99', many.sample.p99Ms ?? NaN, side)
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
    for (const side of sides) {
      const measured = await startOnce(`${results}/goals-starts`, programsOf(side))
      const add = (figure: Figure, what: string): void =>
        table.add(figure, (measured.get(`${what}, ms`) ?? NaN) / 1000, side)
      add('startInMemory', 'in memory')
      add('startDurable', 'one durable member, its first start')
      add('startThree', 'three new members, by orchctl cluster up')
    }
  }
}

async function memory(): Promise<void> {
  const load = { objects: Number(options.objects), loadSeconds: Number(options['load-seconds']) }
  for (let round = 0; round < rounds; round++) {
    for (const side of sides) {
      await withCluster(side, async ({ context }) => {
        await pause(clock, settleMs)
        const { idle: idleTimes, loaded } = await measureMemory(context, load)
        table.add('memoryIdle', idleTimes, side)
        table.add('memoryLoaded', loaded, side)
      })
    }
  }
}

type Running = { readonly context: BenchContext; readonly pids: () => readonly number[] }

function programsOf(side: Side): Programs {
  return side === 'before' && other !== null ? other : ownPrograms
}

/**
 * Starts a cluster of three, and removes it at the end. Lease reads are off, as in every new
 * cluster: after a failure of the leader voters would wait for the end of their promises.
 */
async function withCluster(side: Side, measure: (running: Running) => Promise<void>): Promise<void> {
  const generator = new Generator(availableParallelism())
  try {
    const { endpoints, local } = side === 'now' ? await ownCluster() : await otherCluster()
    const namespaces = new Namespaces(endpoints, clock, 'goals')
    const { name } = await namespaces.make('probe')
    const target = await Target.probe(endpoints, local, `/api/v1/namespaces/${name}`)
    const seconds = Number(options.seconds)
    const context = { target, generator, namespaces, clock, seconds, note: terminal.note }
    await measure({ context, pids: () => local.pids() })
  } finally {
    generator.close()
    await (side === 'now' ? takeDown(directory) : takeDownOther(directory, programsOf(side)))
  }
}

type Started = { readonly endpoints: readonly Endpoint[]; readonly local: LocalServers }

async function ownCluster(): Promise<Started> {
  const { endpoints } = await OwnCluster.up(directory, { leaseReads: false })
  const local = localServers(terminal, directory, endpoints)
  if (local === null) throw new Error('the cluster did not start')
  return { endpoints, local }
}

async function otherCluster(): Promise<Started> {
  const endpoints = await startOther(directory, programsOf('before'))
  return { endpoints, local: serversIn(directory) }
}

function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (cpuMsOf(pid) ?? NaN), 0)
}
