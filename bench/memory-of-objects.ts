import { pause } from '../tools/verify/pause.ts'
import type { BenchContext } from './tool/context.ts'
import { fill } from './tool/fill.ts'
import type { Recipe } from './tool/generator/recipe.ts'
import { mostRecent } from './tool/generator/requests.ts'
import { residentMiBOf } from './tool/process-usage.ts'
import { measureCalls } from './tool/run-calls.ts'

const payloadBytes = 1000
const clients = 64
/** Enough for compaction, flushes and garbage collection to finish. */
export const idleMs = 20_000

/** Returns the resident memory of the largest member, in MiB. */
export function largestMiB({ target }: BenchContext): number {
  return Math.max(0, ...(target.local?.pids() ?? []).map((pid) => residentMiBOf(pid) ?? 0))
}

/** Returns the wire size of an unpaged list of a namespace. */
export async function listBytes(context: BenchContext, namespace: string): Promise<number> {
  const { endpoints } = context.target
  const recipe = { kind: 'list', namespace, page: null, form: mostRecent } as const
  const calls = { recipe, http: '1.1', clients: 1, endpoints } as const
  const { sample } = await measureCalls({ ...context, seconds: 0.5 }, calls)
  return ((sample.megabytesPerSecond ?? 0) * 1e6) / (sample.perSecond ?? 1)
}

/**
 * Measures the memory of that many objects of 1 KB: what the server uses above an empty one,
 * divided by the wire size of the objects. Idle, and at the end of a full write load.
 */
export async function measureMemory(
  context: BenchContext,
  { objects, loadSeconds }: { readonly objects: number; readonly loadSeconds: number },
): Promise<{ readonly idle: number; readonly loaded: number }> {
  const emptyMiB = largestMiB(context)
  const filling = { prefix: 'l', objects, payloadBytes }
  const namespace = await fill(context, { purpose: 'memory', ...filling })
  const wireMiB = (await listBytes(context, namespace)) / 2 ** 20
  const times = (): number => (largestMiB(context) - emptyMiB) / wireMiB
  await pause(context.clock, idleMs)
  const idle = times()
  const recipe: Recipe = { kind: 'update', namespace, prefix: 'l', payloadBytes }
  const calls = { recipe, http: '1.1', clients, endpoints: context.target.endpoints } as const
  await measureCalls({ ...context, seconds: loadSeconds }, calls)
  const loaded = times()
  context.note(
    `memory: ${emptyMiB.toFixed(0)} MiB empty, x ${idle.toFixed(2)} idle, x ${loaded.toFixed(2)} after writes`,
  )
  return { idle, loaded }
}
