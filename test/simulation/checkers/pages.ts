import type { Call, History } from '../clients/history.ts'
import { Finding } from './finding.ts'
import { labelOf } from './object-history.ts'
import { listDifference, listed } from './served-content.ts'
import type { Truth } from './truth.ts'

/**
 * I19: all pages of one list, from whatever members, show one revision; together they are the whole
 * state at it, and their remaining counts are right.
 *
 * @throws Finding
 */
export function checkPages(history: History, truth: Truth): void {
  for (const pages of pagedLists(history)) checkOne(pages, truth)
}

function checkOne(pages: readonly Call[], truth: Truth): void {
  let revision: number | null = null
  const objects = []
  for (const call of pages) {
    const { request, answer, trimmed } = call
    if (request.kind !== 'list') continue
    if (
      answer.kind === 'refused' &&
      answer.reason === 'Expired' &&
      revision !== null &&
      revision >= trimmed
    ) {
      throw new Finding(
        'I19 pages',
        `history goes back to ${trimmed}, the list is of ${revision}: ${labelOf(call)}`,
      )
    }
    if (answer.kind !== 'list') return
    revision ??= answer.revision
    if (answer.revision !== revision) {
      throw new Finding('I19 pages', `of revision ${answer.revision} after ${revision}: ${labelOf(call)}`)
    }
    objects.push(...answer.objects)
    if (answer.objects.length > (request.limit ?? Infinity)) {
      throw new Finding('I19 pages', `${answer.objects.length} objects: ${labelOf(call)}`)
    }
    const whole = listed(truth, request.range, revision)
    const left = whole.length - objects.length
    const isRight = answer.remaining === null ? true : answer.remaining === left
    if (!isRight || (!answer.more && left !== 0)) {
      const stated = answer.more ? `${answer.remaining}` : 'none'
      throw new Finding('I19 pages', `${left} objects are left, but ${stated} stated: ${labelOf(call)}`)
    }
    const shownSoFar = answer.more ? null : listDifference(objects, truth, { range: request.range, revision })
    const isPrefix = objects.every(({ revision: of }, at) => whole[at]?.revision === of)
    if (shownSoFar !== null || !isPrefix) {
      throw new Finding('I19 pages', `${shownSoFar ?? 'an object missed or doubled'}: ${labelOf(call)}`)
    }
  }
}

function pagedLists(history: History): Call[][] {
  const lists = new Map<string, Call[]>()
  for (const call of history.calls) {
    const { request } = call
    if (request.kind !== 'list' || request.limit === null) continue
    const name = `${call.client}/${request.pagesOf}`
    const pages = lists.get(name)
    if (pages === undefined) lists.set(name, [call])
    else pages.push(call)
  }
  return [...lists.values()]
}
