import { isLinearizable } from '../clients/history.ts'
import type { Call, History, Mode } from '../clients/history.ts'
import { Finding } from './finding.ts'
import { isMissing, keyOf, labelOf } from './object-history.ts'
import type { Truth } from './truth.ts'
import type { Version } from './version.ts'

/** Returns the store's key of an object of clients. */
export function storeKey(key: string): string {
  return `/configmaps/${key}`
}

/**
 * I16, the order of revisions: revisions explain all responses. Each write took effect at its
 * revision, each most recent response is right at some revision, and neither revision is before one
 * that was acknowledged when the call began.
 *
 * @throws Finding
 */
export function checkRealTime(history: History, truth: Truth): void {
  sweep(history, truth, { claim: 'I16 real time', isBound: isMostRecent, sessionOf: () => '' })
}

/**
 * I20: the reads of one client at one process never go back, in any mode except an exact revision.
 *
 * @throws Finding
 */
export function checkSessions(history: History, truth: Truth): void {
  sweep(history, truth, {
    claim: 'I20 session reads',
    isBound: (call) => modeOf(call).kind !== 'exact' && !isLaterPage(call),
    sessionOf: ({ client, process }) => `${client}/${process}`,
  })
}

/**
 * I18: a response that may not be older than a revision is not, and an exact one is of that
 * revision.
 *
 * @throws Finding
 */
export function checkModes(history: History, truth: Truth): void {
  for (const call of history.calls) {
    const mode = modeOf(call)
    const { answer } = call
    if (mode.kind === 'exact' && answer.kind === 'list' && answer.revision !== mode.revision) {
      throw new Finding('I18 exact', `revision ${answer.revision} was shown: ${labelOf(call)}`)
    }
    if (mode.kind === 'not-older-than') {
      if (answer.kind === 'list' && answer.revision < mode.revision) {
        throw new Finding('I18 not older than', `revision ${answer.revision} was shown: ${labelOf(call)}`)
      }
      if (pointOf(call, truth, mode.revision) === 'none') {
        throw new Finding(
          'I18 not older than',
          `no state since ${mode.revision} is like that: ${labelOf(call)}`,
        )
      }
    }
    const wanted = mode.kind === 'exact' || mode.kind === 'not-older-than' ? mode.revision : Infinity
    if (
      answer.kind === 'refused' &&
      answer.reason === 'Expired' &&
      wanted >= call.trimmed &&
      !isLaterPage(call)
    ) {
      throw new Finding('I18 expiry', `history goes back to ${call.trimmed}: ${labelOf(call)}`)
    }
  }
}

type Sweep = {
  readonly claim: string
  readonly isBound: (call: Call) => boolean
  readonly sessionOf: (call: Call) => string
}

/**
 * Checks the calls in the order in which they ended: each of them is explained by some revision
 * that is not below the highest one that was known in its session when it began.
 */
function sweep(history: History, truth: Truth, { claim, isBound, sessionOf }: Sweep): void {
  const floors = new Map<string, number>()
  const atBegin = new Map<Call, number>()
  for (const { at, call, observed } of moments(history, claim.startsWith('I16'))) {
    if (call === null) {
      floors.set('', Math.max(floors.get('') ?? 0, observed))
      continue
    }
    const session = sessionOf(call)
    const floor = floors.get(session) ?? 0
    if (at === call.begin) {
      atBegin.set(call, floor)
      continue
    }
    const bound = isBound(call) ? (atBegin.get(call) ?? 0) : 0
    const point = pointOf(call, truth, bound)
    if (point === 'says-nothing') continue
    if (point === 'none') {
      const range = `no revision from ${bound} to ${call.newest}`
      throw new Finding(claim, `${range} explains ${labelOf(call)} [${call.begin}, ${call.end}]`)
    }
    floors.set(session, Math.max(floor, point))
  }
}

type Moment = { readonly at: number; readonly call: Call | null; readonly observed: number }

function moments(history: History, withObservations: boolean): Moment[] {
  const found: Moment[] = []
  for (const call of history.calls) {
    if (call.end === Infinity) continue
    found.push({ at: call.begin, call, observed: 0 }, { at: call.end, call, observed: 0 })
  }
  if (withObservations)
    for (const { at, revision } of history.observations) found.push({ at, call: null, observed: revision })
  return found.sort((a, b) => a.at - b.at)
}

/**
 * Returns the first revision from `floor` on, up to the newest at the call's end, at which its
 * response is right; for a write its own revision, which is after `floor`.
 */
export function pointOf(call: Call, truth: Truth, floor: number): number | 'none' | 'says-nothing' {
  const { request, answer, newest } = call
  const within = (from: number, to: number): number | 'none' => {
    const point = Math.max(from, floor)
    return point <= Math.min(to, newest) ? point : 'none'
  }
  if (answer.kind === 'list') return within(answer.revision, answer.revision)
  if (answer.kind === 'object') {
    const { revision, key } = answer.object
    if (request.kind !== 'get') return revision > floor && revision <= newest ? revision : 'none'
    return within(revision, endOf(truth, key, revision))
  }
  if (answer.kind === 'done') {
    if (request.kind === 'write-together') {
      const [first = 0] = answer.revisions
      return first > floor ? Math.max(...answer.revisions) : 'none'
    }
    if (request.kind === 'delete') return deletionOf(call, truth, request.key, floor)
    return 'says-nothing'
  }
  const claim = claimOf(call)
  const key = keyOf(request)
  if (claim === null || key === null) return 'says-nothing'
  return firstWhere(truth, key, { floor, newest, claim })
}

/** Returns the statement of a refusal about the object; null: none. */
function claimOf(call: Call): ((found: Version | null) => boolean) | null {
  const { request, answer } = call
  if (answer.kind !== 'refused' || request.kind === 'generate') return null
  if (isMissing(call)) return request.kind === 'create' ? null : (found) => found === null
  if (answer.reason === 'AlreadyExists') return (found) => found !== null
  if (answer.reason !== 'Conflict') return null
  if (request.kind !== 'update' && request.kind !== 'patch' && request.kind !== 'delete') return null
  const { expected } = request
  const uid = request.kind === 'delete' ? request.uid : null
  if (expected === null && uid === null) return null
  return (found) =>
    found !== null &&
    ((uid !== null && found.uid !== uid) || (expected !== null && found.revision !== expected.revision))
}

function firstWhere(
  truth: Truth,
  key: string,
  of: { readonly floor: number; readonly newest: number; readonly claim: (found: Version | null) => boolean },
): number | 'none' {
  const { floor, newest, claim } = of
  if (claim(truth.at(storeKey(key), floor))) return floor
  for (const version of truth.versionsOf(storeKey(key))) {
    const { revision } = version
    if (revision <= floor || revision > newest) continue
    if (claim(version.kind === 'deleted' ? null : version)) return revision
  }
  return 'none'
}

function deletionOf(call: Call, truth: Truth, key: string, floor: number): number | 'none' {
  for (const { kind, revision } of truth.versionsOf(storeKey(key))) {
    if (kind === 'deleted' && revision > floor && revision <= call.newest) return revision
  }
  return 'none'
}

/** Returns the last revision at which that version was current. */
function endOf(truth: Truth, key: string, revision: number): number {
  const next = truth.versionsOf(storeKey(key)).find((version) => version.revision > revision)
  return next === undefined ? Infinity : next.revision - 1
}

/** A later page has the revision of its token, whatever the first page requested. */
function modeOf({ request }: Call): Mode {
  if (request.kind !== 'get' && request.kind !== 'list') return mostRecent
  return request.kind === 'list' && request.page > 0 ? { kind: 'any' } : request.mode
}

function isMostRecent(call: Call): boolean {
  return isLinearizable(modeOf(call))
}

function isLaterPage({ request }: Call): boolean {
  return request.kind === 'list' && request.page > 0
}

const mostRecent: Mode = { kind: 'most-recent' }
