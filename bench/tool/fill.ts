import { BenchError } from './errors.ts'
import { failuresText } from './generator/failures.ts'
import { benchLimits } from './limits.ts'
import type { BenchContext } from './context.ts'

const clientsMax = 64
/** From this number of objects on, a note reports that they are being created. */
const notedObjectsMin = 5000

/** The objects that a load reads or changes: `<prefix>0` and so on, in their own namespace. */
export type Filling = {
  readonly purpose: string
  readonly prefix: string
  readonly objects: number
  readonly payloadBytes: number
}

/** @returns the name of the namespace @throws BenchError */
export async function fill(context: BenchContext, filling: Filling): Promise<string> {
  const { namespaces, generator, target, clock, note } = context
  const { purpose, objects, ...what } = filling
  const { name, isNew } = await namespaces.make(purpose)
  if (!isNew) return name
  if (objects >= notedObjectsMin) note(`creating ${objects} objects`)
  const clients = Math.min(clientsMax, objects)
  const recipe = { kind: 'fill', namespace: name, objects, clients, ...what } as const
  await generator.openCalls({ recipe, http: '1.1', clients, endpoints: target.endpoints })
  const withinMs = Math.max(benchLimits.fillMsMin, (objects / 1000) * benchLimits.fillMsPerThousand)
  const { isComplete, failures } = await generator.runCalls(clock.monotonicMs() + withinMs)
  if (!isComplete) {
    throw new BenchError(
      'no-answer',
      `not all of ${objects} objects could be created: ${failuresText(failures.list())}`,
    )
  }
  return name
}
