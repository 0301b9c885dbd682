import { ApiError } from '../../api/errors/api-error.ts'
import { jsonValues, tooManyValues } from '../../api/codec/value-count.ts'
import { bodyLimits } from '../../api/limits.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { keyOfTarget } from '../calls/request.ts'
import { fromStore } from '../shared/store-error-mapping.ts'

/**
 * Reads the body of an update or a patch. A stored object can always be written again: the limit is
 * the number of its values plus a few, because defaults may have raised it above the limit of a
 * create.
 *
 * @param read called with the limit of values; called again if this member was behind
 * @throws ApiError
 */
export function withValueLimit<T>(
  dependencies: VerbDependencies,
  request: WriteRequest,
  read: (valuesMax: number) => T | Promise<T>,
): T | Promise<T> {
  const { valuesMax } = bodyLimits
  // More values need more bytes.
  return request.body.byteLength <= valuesMax ? read(valuesMax) : readLarge(dependencies, request, read)
}

async function readLarge<T>(
  dependencies: VerbDependencies,
  request: WriteRequest,
  read: (valuesMax: number) => T | Promise<T>,
): Promise<T> {
  const first = valuesAllowed(dependencies, request)
  try {
    return await read(first)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'RequestEntityTooLarge') throw error
    await fromStore(dependencies.store.barrier(request.context.deadlineMs))
    const now = valuesAllowed(dependencies, request)
    if (now <= first) throw error
    return await read(now)
  }
}

function valuesAllowed({ store }: VerbDependencies, { definition, target }: WriteRequest): number {
  const { valuesMax, valuesAddedMax } = bodyLimits
  const stored = store.view().get(keyOfTarget(definition, target))
  return stored === null ? valuesMax : Math.max(valuesMax, jsonValues(stored.bytes) + valuesAddedMax)
}

/**
 * Refuses an object that has too many values including its defaults.
 *
 * @param bytes of the object to be stored
 * @param storedBytes of the stored object. null: it is new
 * @throws ApiError RequestEntityTooLarge
 */
export function checkValueCount(bytes: Uint8Array, storedBytes: Uint8Array | null): void {
  const { storedValuesMax, valuesAddedMax } = bodyLimits
  if (bytes.byteLength <= storedValuesMax) return
  const values = jsonValues(bytes)
  if (values <= storedValuesMax) return
  const before = storedBytes === null ? 0 : jsonValues(storedBytes) + valuesAddedMax
  if (values > before) throw tooManyValues('object with its defaults', Math.max(storedValuesMax, before))
}
