import type { StoredObject } from '../../store/object-store.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { Selection } from './selection.ts'
import { selectedOf } from './slices.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'

/**
 * Returns the selected `objects` in order of revision. Sorting tens of thousands at once would
 * block the event loop, so runs are sorted one per turn and merged on demand.
 */
export async function inRevisionOrder(
  dependencies: VerbDependencies,
  selection: Selection,
  objects: readonly StoredObject[],
  deadlineMs: number,
): Promise<Iterator<StoredObject, void>> {
  const runObjects = dependencies.limits.sliceObjectsMax
  const runs: (readonly StoredObject[])[] = []
  for (let from = 0; from < objects.length; from += runObjects) {
    if (from > 0) await yieldToEventLoop(dependencies.clock)
    const some = objects.slice(from, from + runObjects)
    const selected = await selectedOf(dependencies, selection, some, { most: runObjects, deadlineMs })
    if (selected.length > 0) runs.push(selected.toSorted((a, b) => a.revision - b.revision))
  }
  return merged(runs)
}

type Head = { readonly run: readonly StoredObject[]; at: number; object: StoredObject }

/**
 * @source Knuth, The Art of Computer Programming, volume 3, section 5.4.1: merging with a heap of
 * the runs' heads
 */
function* merged(runs: readonly (readonly StoredObject[])[]): Generator<StoredObject, void> {
  const heap: Head[] = []
  for (const run of runs) {
    const [object] = run
    if (object !== undefined) heap.push({ run, at: 0, object })
  }
  heap.sort((a, b) => a.object.revision - b.object.revision)
  for (let head = heap[0]; head !== undefined; head = heap[0]) {
    yield head.object
    const next = head.run[++head.at]
    if (next !== undefined) head.object = next
    else {
      const last = heap.pop()
      if (last !== undefined && last !== head) heap[0] = last
    }
    sink(heap)
  }
}

/** Restores the heap order from the root. */
function sink(heap: Head[]): void {
  const head = heap[0]
  if (head === undefined) return
  let at = 0
  while (true) {
    const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]]
    if (left === undefined) break
    const leftFirst = right === undefined || left.object.revision < right.object.revision
    const child = leftFirst ? left : right
    if (child.object.revision > head.object.revision) break
    heap[at] = child
    at = 2 * at + (leftFirst ? 1 : 2)
  }
  heap[at] = head
}
