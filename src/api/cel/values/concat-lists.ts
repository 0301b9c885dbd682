import type { Evaluation } from '../evaluate/evaluation.ts'
import { ArrayList } from './array-list.ts'
import { uniteByIdentity } from './list-identity.ts'
import type { CelList, CelValue } from './value.ts'
import { CelFailure } from './value.ts'

/** Returns `a + b`: the union if `a` is a list of type set or map, else the concatenation. */
export function concatLists(a: CelList, b: CelList, evaluation: Evaluation): CelList | CelFailure {
  if (a.identity !== undefined) return uniteByIdentity(a, b, a.identity, evaluation)
  const added = itemsOf(b, evaluation)
  if (added instanceof CelFailure) return added
  const appended = a instanceof ArrayList ? a.append(added) : undefined
  if (appended !== undefined) return appended
  const items = itemsOf(a, evaluation)
  if (items instanceof CelFailure) return items
  for (const item of added) items.push(item)
  return new ArrayList(items)
}

/** Returns the elements, or the failure of the first one that cannot be read. */
export function itemsOf(list: CelList, evaluation: Evaluation): CelValue[] | CelFailure {
  evaluation.step(2 * list.size)
  const items: CelValue[] = []
  for (let at = 0; at < list.size; at++) {
    const item = list.at(at)
    if (item instanceof CelFailure) return item
    items.push(item)
  }
  return items
}
