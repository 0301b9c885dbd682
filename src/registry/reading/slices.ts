import type { Key, KeyPrefix } from '../../store/key.ts'
import type { ListSlice, ObjectStore, StoredObject } from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ConvertibleStore } from '../shared/convertible-store.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'
import type { Selection } from './selection.ts'

/**
 * Batches of objects, read on demand, so that a long list is never held as a whole. Can be iterated
 * more than once.
 */
export type Batches = Iterable<readonly StoredObject[]> | AsyncIterable<readonly StoredObject[]>

/**
 * Returns objects at one revision. The newest revision costs no more than copying pointers.
 * @throws StoreError `compacted`
 */
export function sliceAt(
  store: ObjectStore,
  revision: Revision,
  prefix: KeyPrefix,
  options: { readonly after: Key | null; readonly limit: number },
): ListSlice | Promise<ListSlice> {
  const view = store.view()
  return view.revision === revision
    ? view.list(prefix, options)
    : store.viewAt(revision).list(prefix, options)
}

export type SelectOptions = {
  /** Upper bound of the number of selected objects. */
  readonly most: number
  /** The deadline of the request: a webhook may have to convert objects to compare them. */
  readonly deadlineMs: number
}

/**
 * Returns the first of `objects` that are selected. Objects are parsed only if the values of their
 * fields are not known; the function yields after a bounded number of parsed bytes.
 *
 * @throws ApiError an object cannot be converted
 */
export function selectedOf(
  dependencies: VerbDependencies,
  selection: Selection,
  objects: readonly StoredObject[],
  options: SelectOptions,
): readonly StoredObject[] | Promise<readonly StoredObject[]> {
  const { most } = options
  if (selection.parsesObjects) return readAndSelected(dependencies, selection, objects, options)
  const selected = selection.everything ? objects : objects.filter(selection.matches)
  return selected.length > most ? selected.slice(0, most) : selected
}

async function readAndSelected(
  { clock, limits, store }: VerbDependencies,
  selection: Selection,
  objects: readonly StoredObject[],
  { most, deadlineMs }: SelectOptions,
): Promise<readonly StoredObject[]> {
  const selected: StoredObject[] = []
  let readBytes = 0
  for (const batch of batchesToConvert(store, limits, objects)) {
    const readable = (await store.conversions?.readable(batch, deadlineMs)) ?? batch
    for (const [at, stored] of readable.entries()) {
      if (selected.length >= most) return selected
      let isSelected = selection.matchesKnown(stored)
      if (isSelected === null) {
        if (readBytes > limits.readTurnBytes) {
          readBytes = 0
          await yieldToEventLoop(clock)
        }
        readBytes += stored.byteLength
        isSelected = selection.matches(stored)
      }
      // Converted objects are not held: the cache has them, or they are converted again.
      if (isSelected) selected.push(batch[at] ?? stored)
    }
  }
  return selected
}

/**
 * Returns the objects in parts that one call of a webhook converts, unless they have too many JSON
 * values for one; in one part, if there is no webhook.
 */
export function* batchesToConvert(
  { conversions }: ConvertibleStore,
  { conversionBatchBytes, conversionBatchObjects }: RegistryLimits,
  objects: readonly StoredObject[],
): Generator<readonly StoredObject[], void> {
  if (conversions === undefined) {
    yield objects
    return
  }
  let from = 0
  let bytes = 0
  for (const [at, { byteLength }] of objects.entries()) {
    if (at > from && (bytes + byteLength > conversionBatchBytes || at - from >= conversionBatchObjects)) {
      yield objects.slice(from, at)
      from = at
      bytes = 0
    }
    bytes += byteLength
  }
  if (from < objects.length) yield objects.slice(from)
}
