import { parseStored } from '../registry/kinds/encode.ts'
import type { Place } from '../registry/quota/usage.ts'
import type { ReadSet } from '../registry/shared/read-set.ts'
import { prefixOf } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'

/** The annotations of each version are parsed once; the entry lives as long as the version. */
const annotations = new WeakMap<StoredObject, Readonly<Record<string, string>>>()

export type DefaultClass =
  | { readonly kind: 'none' }
  | { readonly kind: 'one'; readonly name: string }
  | { readonly kind: 'several'; readonly count: number }

/**
 * Finds the default object of a cluster-scoped kind: the one that has an annotation of `marks` with
 * the value `true`.
 */
export function defaultClassName(reads: ReadSet, place: Place, marks: readonly string[]): DefaultClass {
  const marked = reads
    .listOther(prefixOf({ namespace: null, ...place }))
    .filter((stored) => marks.some((mark) => annotationsOf(stored)[mark] === 'true'))
  const [first] = marked
  if (first === undefined) return { kind: 'none' }
  if (marked.length > 1) return { kind: 'several', count: marked.length }
  return { kind: 'one', name: parseStored(first).metadata.name ?? '' }
}

function annotationsOf(stored: StoredObject): Readonly<Record<string, string>> {
  let found = annotations.get(stored)
  if (found === undefined) {
    found = parseStored(stored).metadata.annotations ?? {}
    annotations.set(stored, found)
  }
  return found
}
