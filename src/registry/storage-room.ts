import { ApiError } from '../api/api-error.ts'
import { forbidden, tooLarge } from '../api/api-errors.ts'
import type { Operation, Outcome } from '../store/command.ts'
import { partsOf } from '../store/key.ts'
import { makesRoom } from '../store/machine/storage-rules.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { VerbRequest } from './answer.ts'
import { resourceOf } from './definition.ts'

type Sizes = Pick<ObjectStore, 'storage' | 'settings'>

/** Of the resources that take most, a refusal names so many. */
const resourcesNamed = 5

/**
 * Spares the log a write that a full storage would refuse. On memory that is behind this may be wrong, as any refusal.
 *
 * @throws ApiError `Forbidden`
 */
export function checkRoom(
  store: Sizes & Pick<ObjectStore, 'view'>,
  request: VerbRequest,
  operations: readonly Operation[],
): void {
  if (!store.storage.alarm) return
  const view = store.view()
  const grows = operations.some(
    (operation) => operation.kind === 'put' && !makesRoom(view.get(operation.key), operation.object),
  )
  if (grows) throw storageFull(store, request, operations)
}

/** What a client is told of a write whose size was refused at apply. */
export function sizeError(
  store: Sizes,
  request: VerbRequest,
  operations: readonly Operation[],
  outcome: Extract<Outcome, { readonly kind: 'too-large' | 'over-quota' }>,
): ApiError {
  if (outcome.kind === 'too-large') return tooLarge(`limit of an object is ${outcome.bytesMax}`)
  return storageFull(store, request, operations)
}

/**
 * 403, in the words of upstream's quotas: clients take it for an answer and show it. A 429 or a 503 they would ask
 * again and again, a 500 reads as a bug of the server, and for 507 a `Status` has no reason.
 */
function storageFull(store: Sizes, request: VerbRequest, operations: readonly Operation[]): ApiError {
  const { usedBytes, bytesMax, largest } = store.storage
  const most = largest(resourcesNamed).map(
    ({ resource, bytes, objects }) => `${resource} (${sizeWords(bytes)}, ${objects} objects)`,
  )
  const message =
    `exceeded storage quota: ${sizeWords(usedBytes)} of ${sizeWords(bytesMax ?? 0)} used, ` +
    `most by ${most.join(', ')}; delete what is not needed and wait until its history is forgotten ` +
    `(${store.settings.historyWindowMs / 1000} s), or raise the quota: orchctl settings set --storage-quota`
  const [first] = operations
  const name = first === undefined ? '' : partsOf(first.key).name
  const refusal = forbidden(resourceOf(request.definition), name, message)
  const causes = [{ reason: 'StorageQuotaExceeded', message, field: '' }]
  return new ApiError('Forbidden', refusal.message, { ...refusal.details, causes })
}

/** `7.9 GiB`, for people. */
function sizeWords(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${(bytes / 1024 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at] ?? ''}`
}
