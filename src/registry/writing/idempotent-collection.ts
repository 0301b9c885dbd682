import type { StoredObject } from '../../store/object-store.ts'
import type { Key } from '../../store/key.ts'
import type { Revision } from '../../store/revision.ts'
import { deletedCollectionStatus } from '../../api/errors/status.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import type { DeleteOptions } from '../calls/delete-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { WriteRequest } from '../calls/verb.ts'
import { resourceOf } from '../kinds/definition.ts'
import { parseStored } from '../kinds/encode.ts'
import { fromStore, responseExpired } from '../shared/store-error-mapping.ts'
import { checkSameRequest, checkSupported, keyedWrite, keyWords, recordOperation } from './idempotency.ts'
import type { KeyedWrite } from './idempotency.ts'
import { sizeError } from './storage-quota.ts'

/** Returns whether the deletion of a collection includes an object. */
export type IsIncluded = (stored: StoredObject) => Promise<boolean>

/**
 * Limits the deletion of a collection with an idempotency key to the objects that existed at the
 * time of the first request with that key, which creates a record. So a repetition continues an
 * interrupted deletion and leaves newer objects alone.
 *
 * @returns null: the request has no key, or is a dry run
 * @throws ApiError
 */
export async function onceByKeyInCollection(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: DeleteOptions,
): Promise<IsIncluded | null> {
  const write = keyedWrite(dependencies, request, { kind: 'DeleteOptions', ...options })
  if (write === null) return null
  const at = await beginningOf(write)
  return async ({ key, uid }) => {
    const then = await objectAt(write, at, key)
    return then?.uid === uid
  }
}

/** @returns null: there was no such object @throws ApiError `Expired` */
async function objectAt(
  { dependencies: { rawStore }, request }: KeyedWrite,
  at: Revision,
  key: Key,
): Promise<StoredObject | null> {
  try {
    return await rawStore.viewAt(at).get(key)
  } catch (cause) {
    const words = `the deletion with the ${keyWords(request)} cannot be continued`
    throw responseExpired(cause, words, 'unknown')
  }
}

/** Returns the revision of the record, which the first request creates. */
async function beginningOf(write: KeyedWrite): Promise<Revision> {
  const { dependencies, request, key, digest } = write
  const { rawStore } = dependencies
  const { deadlineMs } = request.context
  await fromStore(rawStore.barrier(deadlineMs))
  const known = rawStore.view().get(key)
  if (known === null) {
    checkSupported(write)
    const document = deletedCollectionStatus(resourceOf(request.definition))
    const operations = [recordOperation(write, { code: 200, document, isStatus: true, back: 0 })]
    const outcome = await fromStore(rawStore.write({ kind: 'write', operations }, deadlineMs))
    const [made] = outcome.kind === 'done' ? outcome.revisions : []
    if (made !== undefined) return made
    if (outcome.kind === 'too-large' || outcome.kind === 'over-quota')
      throw sizeError(rawStore, request, operations, outcome)
  }
  // A concurrent request with the key may have been first.
  const found = known ?? rawStore.view().get(key)
  if (found === null) throw tooManyRequests(1, 'the Idempotency-Key has just expired; nothing was changed')
  checkSameRequest(digest, parseStored(found))
  request.context.replayed?.()
  return found.revision
}
