import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { amountsIn } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import type { StoredObject } from '../store/object-store.ts'

/** One version of a LimitRange. */
export type LimitRange = {
  /** Requests and limits of containers that state none, by resource name. */
  readonly defaults: { readonly requests: JsonObject; readonly limits: JsonObject }
  readonly items: readonly LimitItem[]
}

/** The bounds of one type of object, such as `Container`. */
export type LimitItem = {
  readonly type: string
  readonly min: Amounts
  readonly max: Amounts
  readonly ratio: Amounts
}

/** Each version is parsed once; the entry lives as long as the version. */
const known = new WeakMap<StoredObject, LimitRange>()

export function limitRangeOf(stored: StoredObject): LimitRange {
  let range = known.get(stored)
  if (range === undefined) {
    range = readLimitRange(objectsMember(objectMember(parseStored(stored), 'spec'), 'limits'))
    known.set(stored, range)
  }
  return range
}

/** @param items `spec.limits` */
export function readLimitRange(items: readonly JsonObject[]): LimitRange {
  const ofContainers = items.filter((item) => textMember(item, 'type') === 'Container')
  const merged = (member: string): JsonObject =>
    Object.assign({}, ...ofContainers.map((item) => objectMember(item, member))) as JsonObject
  return {
    defaults: { requests: merged('defaultRequest'), limits: merged('default') },
    items: items.map((item) => ({
      type: textMember(item, 'type'),
      min: amountsIn(objectMember(item, 'min')),
      max: amountsIn(objectMember(item, 'max')),
      ratio: amountsIn(objectMember(item, 'maxLimitRequestRatio')),
    })),
  }
}
