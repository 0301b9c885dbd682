import type { StoredObject } from '../../store/object-store.ts'
import type { RequestContext } from '../calls/request.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ListPage } from './list-page.ts'
import { YieldBudget, yieldToEventLoop } from '../shared/yield-budget.ts'
import { batchesToConvert } from './slices.ts'

/**
 * Returns the page with objects that can be read. Those that a webhook converts are converted in
 * batches: the first ones now, so that a failure is an error response, and the others while the
 * response is sent. A failure then breaks the connection, so that no client takes a part for the
 * whole list.
 *
 * An object that cannot be decrypted is an error response, too.
 *
 * @throws ApiError an object cannot be converted, or not decrypted
 */
export async function readablePage(
  dependencies: VerbDependencies,
  { deadlineMs }: Pick<RequestContext, 'deadlineMs'>,
  page: ListPage,
): Promise<ListPage> {
  const { store, limits } = dependencies
  const { encryption } = dependencies
  if (encryption !== undefined && mayBeSealed(encryption, page)) await requireDecrypted(dependencies, page)
  if (store.conversions === undefined) return page
  let untilMs = deadlineMs
  const readable = (): AsyncGenerator<readonly StoredObject[], void> =>
    readableBatches(dependencies, () => untilMs, page)
  const batches = readable()
  const first: (readonly StoredObject[])[] = []
  for (let bytes = 0; bytes < limits.convertedFirstBytes;) {
    const { done, value } = await batches.next()
    if (done === true) return { ...page, batches: first }
    first.push(value)
    for (const { byteLength } of value) bytes += byteLength
  }
  // From now on the client sets the pace; each call has its own timeout.
  untilMs = Number.POSITIVE_INFINITY
  let isFirst = true
  return {
    ...page,
    batches: {
      // An encoding that needs the length of all objects iterates twice.
      [Symbol.asyncIterator]: () => {
        if (!isFirst) return readable()
        isFirst = false
        return continued(first, batches)
      },
    },
  }
}

/**
 * Whether objects of the page may be encrypted, as far as is known without waiting. Most resources
 * are not, and their lists cost the same as without encryption.
 */
function mayBeSealed(
  { concerns }: NonNullable<VerbDependencies['encryption']>,
  { batches }: ListPage,
): boolean {
  if (!(Symbol.iterator in batches)) return true
  for (const [first] of batches) if (first !== undefined) return concerns(first)
  return false
}

/** @throws SealedObjectError */
async function requireDecrypted(
  { encryption, clock, limits }: VerbDependencies,
  { batches }: ListPage,
): Promise<void> {
  if (encryption === undefined) return
  const turn = new YieldBudget(clock, limits)
  let isFirst = true
  for await (const batch of batches) {
    for (const stored of batch) {
      if (isFirst && !encryption.concerns(stored)) return
      isFirst = false
      turn.charge(stored.byteLength)
      encryption.requireReadable(stored)
      if (!turn.isSpent) continue
      await yieldToEventLoop(clock)
      turn.reset()
    }
  }
}

async function* readableBatches(
  { store, limits }: VerbDependencies,
  untilMs: () => number,
  { batches }: ListPage,
): AsyncGenerator<readonly StoredObject[], void> {
  for await (const objects of batches) {
    for (const batch of batchesToConvert(store, limits, objects)) {
      yield (await store.conversions?.readable(batch, untilMs())) ?? batch
    }
  }
}

async function* continued(
  first: readonly (readonly StoredObject[])[],
  batches: AsyncGenerator<readonly StoredObject[], void>,
): AsyncGenerator<readonly StoredObject[], void> {
  yield* first
  yield* batches
}
