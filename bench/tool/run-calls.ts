import { latencySample } from './context.ts'
import type { BenchContext, Measured } from './context.ts'
import { Cost } from './cost.ts'
import { fill } from './fill.ts'
import type { CallsOf } from './generator/generator.ts'
import type { Recipe } from './generator/recipe.ts'
import { benchLimits } from './limits.ts'
import type { Load, WriteWorkload } from './load.ts'

export type CallLoad = Load & { readonly kind: 'livez' | 'get' | 'list' | WriteWorkload }

/** Number of objects that GET requests are spread over. */
const readObjects = 64
/** Minimum number of objects for updates, patches and applies; each client changes its own. */
const changedObjectsMin = 256
const listedBytes = 1000

/** Runs clients in a closed loop. @throws BenchError */
export async function runCalls(context: BenchContext, load: CallLoad, round: string): Promise<Measured> {
  const { target, clock, namespaces } = context
  const recipe = await recipeOf(context, load, round)
  const endpoints = await target.at(load.place, clock)
  const measured = await measureCalls(context, { recipe, http: load.http, clients: load.clients, endpoints })
  // Restores the state in which the load found the servers.
  if (recipe.kind === 'create') await namespaces.remove(recipe.namespace)
  return measured
}

/** Measures the calls of one load. @throws BenchError */
export async function measureCalls(context: BenchContext, calls: CallsOf): Promise<Measured> {
  const { generator, target, clock, seconds } = context
  await generator.openCalls(calls)
  const cost = new Cost(clock, target.local?.pids() ?? [])
  const outcome = await generator.runCalls(clock.monotonicMs() + seconds * 1000)
  const elapsedS = cost.elapsedMs / 1000
  const sample = {
    ...{ operations: outcome.operations, failed: outcome.failures.total, generatorBusy: outcome.busy },
    ...{ perSecond: outcome.operations / elapsedS, megabytesPerSecond: outcome.bytes / 1e6 / elapsedS },
    ...latencySample(outcome.latencies),
    ...cost.sample(outcome.operations),
  }
  return { sample, failures: outcome.failures.list() }
}

async function recipeOf(context: BenchContext, load: CallLoad, round: string): Promise<Recipe> {
  const { target, namespaces } = context
  switch (load.kind) {
    case 'livez':
      return { kind: 'path', path: '/livez' }
    case 'get': {
      const { objectBytes: payloadBytes } = load
      const filling = { prefix: 'g', objects: readObjects, payloadBytes }
      const namespace = await fill(context, { purpose: `get-${payloadBytes}`, ...filling })
      return { kind: 'get', namespace, prefix: 'g', objects: readObjects, form: target.form(load.mode) }
    }
    case 'create': {
      const { objectBytes: payloadBytes, place, clients, http } = load
      const { name } = await namespaces.make(`create-${round}-${payloadBytes}-${place}-${clients}-${http[0]}`)
      const each = Math.ceil(benchLimits.createdBytesMax / payloadBytes / clients)
      return { kind: 'create', namespace: name, prefix: 'c', payloadBytes, each }
    }
    case 'update':
    case 'patch':
    case 'apply': {
      const { kind, objectBytes: payloadBytes } = load
      const filling = { prefix: 'u', objects: Math.max(changedObjectsMin, load.clients), payloadBytes }
      const namespace = await fill(context, { purpose: `${kind}-${payloadBytes}`, ...filling })
      return { kind, namespace, prefix: 'u', payloadBytes }
    }
    case 'list': {
      const { objects, page } = load
      const filling = { prefix: 'l', objects, payloadBytes: listedBytes }
      const namespace = await fill(context, { purpose: `list-${objects}`, ...filling })
      return { kind: 'list', namespace, page, form: target.form(load.mode) }
    }
  }
}
