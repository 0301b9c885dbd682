/*
 * Measures how the cost of a durable cluster of three grows with its data: the CPU of all members
 * per linearizable get, per create and per watch event, with N objects; and the memory of the
 * largest member when empty, with N objects, and after a full write load.
 *
 *   node dist/bundle/bench/growth.js [--objects 1000,50000,200000] [--loaded 50000]
 *     [--load-seconds 300] [--seconds 5] [--rounds 3]
 *
 * --loaded: the object count at which 64 clients write for --load-seconds. The generator shares the
 * machine.
 */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeDirectoriesSync } from '../base/make-directories.ts'
import type { BenchContext } from './tool/context.ts'
import { fill } from './tool/fill.ts'
import { Generator } from './tool/generator/generator.ts'
import type { Recipe } from './tool/generator/recipe.ts'
import { spreadOf, spreadText } from './tool/measures.ts'
import type { Sample } from './tool/measures.ts'
import { Namespaces } from './tool/namespaces.ts'
import { measureCalls, runCalls } from './tool/run-calls.ts'
import { runWatch } from './tool/run-watch.ts'
import { Target } from './tool/target.ts'
import { localServers } from '../src/cli/bench-local.ts'
import { MachineClock } from '../src/host/machine-clock.ts'
import { pause } from '../tools/verify/pause.ts'
import { idleMs, largestMiB, listBytes } from './memory-of-objects.ts'
import { OwnCluster, takeDown, terminal } from './own-cluster.ts'

const { values: options } = parseArgs({
  options: {
    objects: { type: 'string', default: '1000,50000,200000' },
    loaded: { type: 'string', default: '50000' },
    'load-seconds': { type: 'string', default: '300' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
  },
})
const counts = options.objects.split(',').map(Number)
const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)]
const payloadBytes = 1000
const clients = 64

const results = resolve('.build/bench')
const directory = `${results}/growth-cluster`
const clock = new MachineClock()
const generator = new Generator(availableParallelism())

makeDirectoriesSync(results)
try {
  await run(await OwnCluster.up(directory))
} finally {
  generator.close()
  await takeDown(directory)
}

async function run({ endpoints }: OwnCluster): Promise<void> {
  const namespaces = new Namespaces(endpoints, clock, 'growth')
  const { name } = await namespaces.make('probe')
  const local = localServers(terminal, directory, endpoints)
  const target = await Target.probe(endpoints, local, `/api/v1/namespaces/${name}`)
  const context: BenchContext = { target, generator, namespaces, clock, seconds, note: terminal.note }
  await pause(clock, idleMs / 2)
  const emptyMiB = largestMiB(context)
  console.log(`memory of the largest of three empty members: ${emptyMiB.toFixed(0)} MiB`)
  let [stored, wireBytes] = [0, 0]
  for (const count of counts) {
    const filling = { prefix: 'l', objects: count - stored, payloadBytes }
    const namespace = await fill(context, { purpose: `of-${count}`, ...filling })
    stored = count
    wireBytes += await listBytes(context, namespace)
    const reported = (when: string): void => {
      const [aboveMiB, wireMiB] = [largestMiB(context) - emptyMiB, wireBytes / 2 ** 20]
      const times = (aboveMiB / wireMiB).toFixed(2)
      const words = `${(aboveMiB + emptyMiB).toFixed(0)} MiB, ${aboveMiB.toFixed(0)} above empty, ${times} x their wire size`
      console.log(`${count} objects of ${wireMiB.toFixed(0)} MiB on the wire, ${when}: ${words}`)
    }
    reported('just made')
    await pause(clock, idleMs)
    reported(`idle for ${idleMs / 1000} s`)
    await costs(context, { count, namespace, objects: filling.objects })
    if (count !== Number(options.loaded)) continue
    const loadSeconds = Number(options['load-seconds'])
    const recipe: Recipe = { kind: 'update', namespace, prefix: 'l', payloadBytes }
    const loaded = await measure({ ...context, seconds: loadSeconds }, recipe)
    reported(`after ${loadSeconds} s of ${loaded.perSecond?.toFixed(0) ?? '-'} updates/s`)
    await pause(clock, idleMs)
    reported(`idle for another ${idleMs / 1000} s`)
  }
}

async function measure(context: BenchContext, recipe: Recipe): Promise<Sample> {
  const { endpoints } = context.target
  const { sample, failures } = await measureCalls(context, { recipe, http: '1.1', clients, endpoints })
  for (const { words, count } of failures) console.log(`  ${recipe.kind}: ${count} x ${words}`)
  return sample
}

async function costs(
  context: BenchContext,
  {
    count,
    namespace,
    objects,
  }: { readonly count: number; readonly namespace: string; readonly objects: number },
): Promise<void> {
  const found = { get: new Array<Sample>(), create: new Array<Sample>(), watch: new Array<Sample>() }
  const form = context.target.form('linearizable')
  for (let round = 1; round <= rounds; round++) {
    found.get.push(await measure(context, { kind: 'get', namespace, prefix: 'l', objects, form }))
    const create = { kind: 'create', place: 'all', objectBytes: payloadBytes, clients, http: '1.1' } as const
    found.create.push((await runCalls(context, create, `${count}-${round}`)).sample)
    const watch = { kind: 'watch', place: 'follower', fast: 100, slow: 0, perSecond: 100 } as const
    found.watch.push((await runWatch(context, watch)).sample)
  }
  for (const [what, samples] of Object.entries(found)) {
    const texts = (['serverCpuMs', 'generatorCpuMs', 'perSecond', 'p50Ms', 'p99Ms', 'lost'] as const).flatMap(
      (measure) => {
        const spread = spreadOf(samples, measure)
        return spread === null ? [] : [`${measure} ${spreadText(spread, measure)}`]
      },
    )
    console.log(`  ${what} at ${count} objects: ${texts.join(', ')}`)
  }
}
