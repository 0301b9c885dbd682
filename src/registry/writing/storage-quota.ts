import { ApiError } from '../../api/errors/api-error.ts'
import { forbidden, tooLarge } from '../../api/errors/standard-errors.ts'
import { spellPath } from '../../api/schema/path.ts'
import { wholeObject } from '../../api/schema/shared.ts'
import type { Operation, Outcome } from '../../store/command.ts'
import { partsOf } from '../../store/key.ts'
import { endsAlarm, sizeRefusalOf } from '../../store/machine/storage-rules.ts'
import type { ObjectStore, ResourceUsage } from '../../store/object-store.ts'
import type { VerbRequest } from '../calls/verb.ts'
import { resourceOf } from '../kinds/definition.ts'
import { parseBytes } from '../kinds/encode.ts'
import { largestField } from './largest-field.ts'

type StorageInfo = Pick<ObjectStore, 'storage' | 'settings'>
type Refusal = Extract<Outcome, { readonly kind: 'too-large' | 'over-quota' }>

/** Number of resources that a refusal names, largest first. */
const largestNamed = 5

/**
 * Refuses a write whose size apply would refuse, without appending it to the log. Like any refusal,
 * this may be wrong on stale memory. A write whose refusal would raise the alarm on all members is
 * proposed nevertheless. A dry run can only be refused here.
 *
 * @throws ApiError `Forbidden`, `RequestEntityTooLarge`
 */
export function checkStorageQuota(
  store: StorageInfo & Pick<ObjectStore, 'view'>,
  request: VerbRequest,
  operations: readonly Operation[],
  { dryRun }: { readonly dryRun: boolean },
): void {
  const { settings, storage } = store
  const { usedBytes, alarm } = storage
  let largest = 0
  let usedThen = usedBytes
  for (const one of operations) {
    if (one.kind !== 'put') continue
    const { byteLength } = one.object.bytes
    largest = Math.max(largest, byteLength)
    usedThen += byteLength
  }
  const quota = settings.storageBytesMax
  const isBeyond = largest > settings.objectBytesMax || (quota !== null && usedThen > quota)
  const mayBeRefused = dryRun || alarm || isBeyond
  if (!mayBeRefused) return
  const view = store.view()
  const fill = { settings, usedBytes, alarm, revision: view.revision }
  const refusal = sizeRefusalOf(fill, (key) => view.get(key), operations)
  if (refusal === null) return
  const raisesAlarm =
    refusal.kind === 'over-quota' && !alarm && quota !== null && !endsAlarm(usedBytes, quota)
  if (raisesAlarm && !dryRun) return
  throw sizeError(store, request, operations, refusal)
}

/** Returns the error of a write whose size is refused. */
export function sizeError(
  store: StorageInfo,
  request: VerbRequest,
  operations: readonly Operation[],
  refusal: Refusal,
): ApiError {
  if (refusal.kind === 'too-large') return objectTooLarge(request, operations, refusal)
  return storageFull(store, request, operations, refusal)
}

/** Returns a 413 error that names the object and its largest field. */
function objectTooLarge(
  { definition }: VerbRequest,
  operations: readonly Operation[],
  { operation, bytes, bytesMax }: Extract<Refusal, { readonly kind: 'too-large' }>,
): ApiError {
  const { code, message, details } = tooLarge(`limit of an object is ${bytesMax}`)
  const put = operations[operation]
  // The caller does not know the other objects of the command.
  if (put?.kind !== 'put' || operation !== 0) return new ApiError(code, message, details)
  const { group, resource } = resourceOf(definition)
  const { name } = partsOf(put.key)
  const largest = largestField(parseBytes(put.object.bytes), wholeObject(definition.schema))
  const field = largest === null ? '' : spellPath(largest.path)
  const most = largest === null ? '' : `, ${largest.bytes} of them in ${field}`
  const words = `${message}: ${group === '' ? resource : `${resource}.${group}`} ${JSON.stringify(name)} has ${bytes} bytes${most}`
  const cause = {
    reason: 'FieldValueTooLong',
    message: `Too long: the object may have ${bytesMax} bytes`,
    field,
  }
  return new ApiError(code, words, {
    ...{ name, kind: resource, causes: [cause] },
    ...(group === '' ? {} : { group }),
  })
}

/**
 * Returns a 403 error in the words of upstream's quotas: clients show it and do not retry. They
 * would retry a 429 or a 503, a 500 looks like a bug of the server, and there is no `Status` reason
 * for 507.
 */
function storageFull(
  store: StorageInfo,
  request: VerbRequest,
  operations: readonly Operation[],
  { usedBytes, bytesMax }: Extract<Refusal, { readonly kind: 'over-quota' }>,
): ApiError {
  const [first] = operations
  const { namespace, name } = first === undefined ? { namespace: '', name: '' } : partsOf(first.key)
  const quota = store.settings.storageBytesMax ?? bytesMax
  const most = store.storage.largest(largestNamed).map(formatUsage)
  const beyond =
    bytesMax > quota ? ` (up to ${formatBytes(bytesMax)} for updates that make objects smaller)` : ''
  const message =
    `exceeded storage quota: ${formatBytes(usedBytes)} of ${formatBytes(quota)} used${beyond}, ` +
    `most of it, history included, by ${most.join(', ')}${namespaceUsage(store, namespace)}; delete objects and wait until their history expires ` +
    `(${store.settings.historyWindowMs / 1000} s), or raise the quota: orchctl settings set --storage-quota`
  const refusal = forbidden(resourceOf(request.definition), name, message)
  const causes = [{ reason: 'StorageQuotaExceeded', message, field: '' }]
  return new ApiError('Forbidden', refusal.message, { ...refusal.details, causes })
}

/**
 * Returns the usage of the namespace of the write. A writer must not learn the names of other
 * tenants' namespaces; administrators see them in the settings.
 */
function namespaceUsage({ storage }: StorageInfo, namespace: string): string {
  const own = storage.largestPlaces().filter((place) => place.namespace === namespace)
  return own.length === 0 ? '' : `, and in namespace ${namespace} by ${own.map(formatUsage).join(', ')}`
}

function formatUsage({ resource, bytes, objects }: ResourceUsage): string {
  return `${resource} (${formatBytes(bytes)}, ${objects} object${objects === 1 ? '' : 's'})`
}

/** Returns a human-readable size such as `7.9 GiB`. */
function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${(bytes / 1024 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at] ?? ''}`
}
