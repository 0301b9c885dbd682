import { runInBatches } from '../../../base/batches.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { deletedCollectionStatus } from '../../api/errors/status.ts'
import { partsOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import { AdmissionContext } from '../calls/admission-context.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import { resourceOf } from '../kinds/definition.ts'
import { readDeleteOptions } from '../writing/read-delete-options.ts'
import { IGNORE_READ_ERRORS } from '../calls/delete-options.ts'
import type { DeleteOptions } from '../calls/delete-options.ts'
import { onceByKeyInCollection } from '../writing/idempotent-collection.ts'
import type { IsIncluded } from '../writing/idempotent-collection.ts'
import { removeWith } from './delete.ts'
import { statusResponse } from '../calls/document-response.ts'
import { readListOptions } from '../calls/query-options.ts'
import { readPage } from '../reading/list-page.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { readState } from '../reading/read-state.ts'
import { selectionOf } from '../reading/selection.ts'
import type { Selection } from '../reading/selection.ts'
import { selectedOf } from '../reading/slices.ts'
import { fromStore, isOutcomeUnknown, outcomeUnknown, statesOutcome } from '../shared/store-error-mapping.ts'

/**
 * Deletes the objects that a list with the same parameters returns, each separately and a bounded
 * number concurrently. Without an exact version or a token those are the current objects; objects
 * created concurrently may remain, and one that another client deletes counts as deleted.
 *
 * @throws ApiError the first failure; objects deleted before it stay deleted
 */
export async function removeCollection(
  dependencies: VerbDependencies,
  request: WriteRequest,
): Promise<VerbResponse> {
  const { definition, target, context } = request
  const options = readDeleteOptions(dependencies, request)
  if (options.ignoresReadErrors) {
    throw badRequest(
      `${IGNORE_READ_ERRORS} is not allowed with DELETECOLLECTION, try again after removing the option`,
    )
  }
  const list = readListOptions(request.query)
  const selection = selectionOf(definition, target, list)
  const isIncluded = await onceByKeyInCollection(dependencies, request, options)
  const removal: Removal = { options, isIncluded, deleted: 0 }
  if (list.wanted.kind === 'exact' || list.continueToken !== null) {
    const { batches } = await readPage(dependencies, request, list, selection)
    for await (const batch of batches) await removeAll(dependencies, request, removal, batch)
  } else {
    await fromStore(dependencies.store.barrier(context.deadlineMs))
    if (list.wanted.kind === 'not-older-than') {
      await readState(dependencies, context, list.wanted, { take: () => undefined })
    }
    await removeNewest(dependencies, request, removal, selection, list.limit)
  }
  return statusResponse(200, deletedCollectionStatus(resourceOf(definition)))
}

/** Deletes the current objects slice by slice. @param limit null: all */
async function removeNewest(
  dependencies: VerbDependencies,
  request: WriteRequest,
  removal: Removal,
  selection: Selection,
  limit: number | null,
): Promise<void> {
  let left = limit ?? Infinity
  let after: Key | null = null
  for (let more = true; more && left > 0;) {
    const slice = dependencies.store
      .view()
      .list(selection.prefix, { after, limit: dependencies.limits.deleteCollectionAtOnce })
    more = slice.more
    after = slice.objects.at(-1)?.key ?? after
    const { key } = selection
    const among = key === null ? slice.objects : slice.objects.filter((stored) => stored.key === key)
    const now = await selectedOf(dependencies, selection, among, {
      most: left,
      deadlineMs: request.context.deadlineMs,
    })
    left -= now.length
    await removeAll(dependencies, request, removal, now)
  }
}

type Removal = {
  readonly options: DeleteOptions
  /** null: all objects that are selected. */
  readonly isIncluded: IsIncluded | null
  /** Number of objects deleted so far. */
  deleted: number
}

/**
 * Deletes the objects in batches, concurrently, so that they share log writes; the first failure is
 * reported once its batch has ended.
 */
async function removeAll(
  dependencies: VerbDependencies,
  request: WriteRequest,
  removal: Removal,
  objects: readonly StoredObject[],
): Promise<void> {
  const { succeeded, failures } = await runInBatches(
    objects,
    { size: dependencies.limits.deleteCollectionAtOnce },
    (stored) => removeOne(dependencies, request, removal, stored),
  )
  removal.deleted += succeeded
  // An unknown outcome takes precedence over a failure without effect.
  const failure = failures.find(isOutcomeUnknown) ?? failures[0]
  if (failure !== undefined) throw partlyDeleted(removal.deleted, failure)
}

/**
 * Returns the error of the whole collection: that of one object states only the outcome of its own
 * deletion.
 */
function partlyDeleted(deleted: number, cause: unknown): unknown {
  if (deleted === 0 || !(cause instanceof ApiError) || !statesOutcome(cause)) return cause
  const details = { ...cause.details, causes: [outcomeUnknown] }
  const cut = cause.code === 'Timeout' ? 'Timeout: ' : ''
  const message = `${cut}${deleted} objects were deleted, the others may have been deleted, or may still be`
  return new ApiError(cause.code, message, details, { cause })
}

async function removeOne(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { options, isIncluded }: Removal,
  stored: StoredObject,
): Promise<void> {
  if (isIncluded !== null && !(await isIncluded(stored))) return
  const { namespace, name } = partsOf(stored.key)
  const target = { namespace: namespace === '' ? null : namespace, name, subresource: null }
  try {
    // Admission treats each deletion as a request of its own.
    const admission = new AdmissionContext(request.context, dependencies)
    const { definition, context, query, body, contentType, onlyWhile } = request
    const one = {
      definition,
      context,
      query,
      body,
      contentType,
      target,
      admission,
      ...(onlyWhile === undefined ? {} : { onlyWhile }),
    }
    // With an idempotency key, a later object of the same name is not deleted.
    const uid = isIncluded === null ? options.uid : (options.uid ?? stored.uid)
    await removeWith(dependencies, one, { ...options, uid })
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    const isReplaced = cause.code === 'Conflict' && isIncluded !== null && !hasPreconditions(options)
    const isGone = cause.code === 'NotFound' || isReplaced
    if (!isGone) throw cause
  }
}

function hasPreconditions({ uid, resourceVersion }: DeleteOptions): boolean {
  return uid !== null || resourceVersion !== null
}
