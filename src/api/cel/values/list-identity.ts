import type { Evaluation } from '../evaluate/evaluation.ts'
import type { ListIdentity } from '../types.ts'
import { ArrayList } from './array-list.ts'
import { UNREADABLE, canonicalText } from './canonical-text.ts'
import type { CelList, CelValue } from './value.ts'
import { CelFailure, CelMap } from './value.ts'

/**
 * Returns the union of two lists. An element of the right list replaces the one of the left list
 * with the same keys.
 */
export function uniteByIdentity(
  a: CelList,
  b: CelList,
  identity: ListIdentity,
  evaluation: Evaluation,
): CelList | CelFailure {
  const united = byIdentity(a, identity, evaluation)
  if (united instanceof CelFailure) return united
  for (const element of elementsOf(b)) {
    if (element instanceof CelFailure) return element
    const id = identityOf(element, identity, evaluation)
    if (identity !== 'set' || !united.has(id)) united.set(id, element)
  }
  return new ArrayList([...united.values()], identity)
}

/** Returns the elements by a text that identifies them. */
export function byIdentity(
  list: CelList,
  identity: ListIdentity,
  evaluation: Evaluation,
): Map<string, CelValue> | CelFailure {
  const elements = new Map<string, CelValue>()
  for (const element of elementsOf(list)) {
    if (element instanceof CelFailure) return element
    elements.set(identityOf(element, identity, evaluation), element)
  }
  return elements
}

export function identityOf(element: CelValue, identity: ListIdentity, evaluation: Evaluation): string {
  if (identity === 'set' || !(element instanceof CelMap)) return canonicalText(element, evaluation)
  evaluation.step(identity.keys.length * KEY_STEPS)
  const texts = identity.keys.map((member) => {
    const value = element.getMember(member)
    if (value === undefined || value instanceof CelFailure) return UNREADABLE
    return canonicalText(value, evaluation)
  })
  return texts.join('')
}

/** Steps of reading one key of an element, besides those of its value. */
const KEY_STEPS = 20

export function* elementsOf(list: CelList): Iterable<CelValue | CelFailure> {
  for (let at = 0; at < list.size; at++) yield list.at(at)
}
