import type { History, Range } from '../clients/history.ts'
import type { ObservedObject } from '../clients/observed-object.ts'
import { Finding } from './finding.ts'
import { labelOf } from './object-history.ts'
import { storeKey } from './real-time.ts'
import type { Truth } from './truth.ts'
import type { Version } from './version.ts'

/**
 * I14: every served object is, byte for byte, the version written at its revision.
 *
 * @throws Finding
 */
export function checkServed(history: History, truth: Truth): void {
  for (const call of history.calls) {
    const { answer } = call
    const shown = answer.kind === 'object' ? [answer.object] : answer.kind === 'list' ? answer.objects : []
    for (const object of shown) {
      const wrong = difference(object, truth)
      if (wrong !== null) throw new Finding('I14 served content', `${wrong}: ${labelOf(call)}`)
    }
  }
}

/**
 * I18: a list shows the whole state at its revision: no object missing, none twice, none of another
 * revision. Paged lists are checked in `pages.ts`.
 *
 * @throws Finding
 */
export function checkLists(history: History, truth: Truth): void {
  for (const call of history.calls) {
    const { request, answer } = call
    if (request.kind !== 'list' || answer.kind !== 'list' || request.limit !== null) continue
    const wrong = listDifference(answer.objects, truth, { range: request.range, revision: answer.revision })
    if (wrong !== null) throw new Finding(`I18 list content`, `${wrong}: ${labelOf(call)}`)
  }
}

/** Returns the expected list of a range at a revision. */
export function listed(truth: Truth, range: Range, revision: number): Version[] {
  const prefix = range.namespace === null ? '/configmaps/' : `/configmaps/${range.namespace}/`
  return truth.list(prefix, revision).filter((version) => inRange(version, range))
}

export function inRange(version: Version, { namespace, color }: Range): boolean {
  const prefix = namespace === null ? '/configmaps/' : `/configmaps/${namespace}/`
  return version.key.startsWith(prefix) && (color === null || version.labels?.['color'] === color)
}

/** @returns null: they are equal */
export function listDifference(
  objects: readonly ObservedObject[],
  truth: Truth,
  of: { readonly range: Range; readonly revision: number },
): string | null {
  const expected = listed(truth, of.range, of.revision)
  for (const [at, version] of expected.entries()) {
    const object = objects[at]
    if (
      object === undefined ||
      storeKey(object.key) !== version.key ||
      object.revision !== version.revision
    ) {
      const found = object === undefined ? 'nothing' : `${object.key} of ${object.revision}`
      return `at revision ${of.revision}, instead of ${version.key} of ${version.revision} it shows ${found}`
    }
  }
  const extra = objects[expected.length]
  return extra === undefined ? null : `at revision ${of.revision} it shows ${extra.key}, which is not there`
}

function difference(object: ObservedObject, truth: Truth): string | null {
  const version = truth.version(object.revision)
  if (version === undefined) return `revision ${object.revision} does not exist`
  if (version.key !== storeKey(object.key)) return `revision ${object.revision} is of ${version.key}`
  return truth.shown(version).text === object.text
    ? null
    : `${object.key} of ${object.revision} has other bytes`
}
