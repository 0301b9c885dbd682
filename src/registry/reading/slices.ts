import type { Key, KeyPrefix } from '../../store/key.ts'
import type { ListSlice, ObjectStore, StoredObject } from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
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

/**
 * Returns the first of `objects` that are selected. Yields after a bounded number of parsed bytes.
 *
 * @param most upper bound of their number
 */
export function selectedOf(
  dependencies: VerbDependencies,
  selection: Selection,
  objects: readonly StoredObject[],
  most: number,
): readonly StoredObject[] | Promise<readonly StoredObject[]> {
  if (selection.parsesObjects) return readAndSelected(dependencies, selection, objects, most)
  const selected = selection.everything ? objects : objects.filter(selection.matches)
  return selected.length > most ? selected.slice(0, most) : selected
}

async function readAndSelected(
  { clock, limits }: VerbDependencies,
  selection: Selection,
  objects: readonly StoredObject[],
  most: number,
): Promise<readonly StoredObject[]> {
  const selected: StoredObject[] = []
  let readBytes = 0
  for (const stored of objects) {
    if (selected.length >= most) break
    if (readBytes > limits.readTurnBytes) {
      readBytes = 0
      await yieldToEventLoop(clock)
    }
    readBytes += stored.byteLength
    if (selection.matches(stored)) selected.push(stored)
  }
  return selected
}
