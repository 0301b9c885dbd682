import { ApiError } from '../api/api-error.ts'
import { deletedCollectionStatus } from '../api/status.ts'
import { partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { document } from './create.ts'
import { resourceOf } from './definition.ts'
import { readDeleteOptions } from './delete-options.ts'
import type { DeleteOptions } from './delete-options.ts'
import { removeWith, statusBytes } from './delete.ts'
import { readListOptions } from './options.ts'
import type { VerbParts } from './parts.ts'
import { selectionOf } from './selection.ts'
import { fromStore } from './store-errors.ts'

/**
 * Deletes what is selected, each object on its own and a bounded number at a time. Objects that come while
 * it runs may stay; one that someone else deleted meanwhile is as good as deleted.
 *
 * @throws ApiError the first failure; what was deleted before it stays deleted
 */
export async function removeCollection(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const { definition, target, context } = request
  const options = readDeleteOptions(request)
  const { limit, ...selectors } = readListOptions(request.query)
  const selection = selectionOf(definition, target, selectors)
  await fromStore(parts.store.barrier(context.deadlineMs))
  let left = limit ?? Infinity
  let after: Key | null = null
  for (let more = true; more && left > 0;) {
    const slice = parts.store
      .view()
      .list(selection.prefix, { after, limit: parts.limits.deleteCollectionAtOnce })
    more = slice.more
    after = slice.objects.at(-1)?.key ?? after
    const chosen = slice.objects.filter(
      (stored) => (selection.key === null || stored.key === selection.key) && selection.matches(stored),
    )
    const now = chosen.slice(0, left)
    left -= now.length
    await removeAll(parts, request, options, now)
  }
  const status = deletedCollectionStatus(resourceOf(definition))
  return document(200, statusBytes(status))
}

/** Together, so that they share log writes; the first failure is told once all have ended. */
async function removeAll(
  parts: VerbParts,
  request: VerbRequest,
  options: DeleteOptions,
  objects: readonly StoredObject[],
): Promise<void> {
  const removals = objects.map((stored) => removeOne(parts, request, options, stored))
  for (const result of await Promise.allSettled(removals)) {
    if (result.status === 'rejected') throw result.reason
  }
}

async function removeOne(
  parts: VerbParts,
  request: VerbRequest,
  options: DeleteOptions,
  stored: StoredObject,
): Promise<void> {
  const { namespace, name } = partsOf(stored.key)
  const target = { namespace: namespace === '' ? null : namespace, name, subresource: null }
  try {
    await removeWith(parts, { ...request, target }, options)
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.code === 'NotFound')) throw cause
  }
}
