import type { Call, History } from '../clients/history.ts'
import { Finding } from './finding.ts'
import { labelOf } from './object-history.ts'
import { storeKey } from './real-time.ts'
import type { Truth } from './truth.ts'

/**
 * I17: a conditional write replaces the version it names and no other.
 *
 * @throws Finding
 */
export function checkNoLostUpdate(history: History, truth: Truth): void {
  for (const call of history.calls) {
    const { request, answer } = call
    if (answer.kind !== 'object' || (request.kind !== 'update' && request.kind !== 'patch')) continue
    const { revision } = answer.object
    const { expected } = request
    if (expected === null) continue
    const version = truth.version(revision)
    if (version?.previous !== expected.revision) {
      const what = `revision ${revision} follows ${version?.previous}, not ${expected.revision}`
      throw new Finding('I17 lost update', `${what}: ${labelOf(call)}`)
    }
  }
}

/**
 * I17: a create that succeeded found no object of its name.
 *
 * @throws Finding
 */
export function checkCreatedOnce(history: History, truth: Truth): void {
  for (const call of history.calls) {
    const { request, answer } = call
    if (answer.kind !== 'object' || (request.kind !== 'create' && request.kind !== 'generate')) continue
    const version = truth.version(answer.object.revision)
    if (version?.kind !== 'created' || version.key !== storeKey(answer.object.key)) {
      throw new Finding('I17 created once', `${version?.kind} at ${answer.object.revision}: ${labelOf(call)}`)
    }
  }
}

/**
 * I17: a uid is used once, and stays with its object from creation to deletion. Objects that
 * clients write to the store directly have uids from these clients, and are not checked.
 *
 * @param corrupted keys that a member with a wrong state wrote to: its conditions may hold by
 *   chance
 * @throws Finding
 */
export function checkUids(truth: Truth, corrupted: ReadonlySet<string> = new Set()): void {
  const uids = new Map<string, string>()
  for (let revision = 1; revision <= truth.revision; revision++) {
    const version = truth.version(revision)
    if (version === undefined || isMadeUp(version.key) || corrupted.has(version.key)) continue
    const { key, uid, kind, previous } = version
    const known = uids.get(uid)
    if (kind === 'created') {
      if (known !== undefined)
        throw new Finding('I17 uid', `${uid} of ${known} is given to ${key} at ${revision}`)
      uids.set(uid, key)
    } else if (known !== key || truth.version(previous)?.uid !== uid) {
      throw new Finding('I17 uid', `${key} changes its uid to ${uid} at ${revision}`)
    }
  }
}

/** Returns the keys of calls during which the state of the member turned wrong. */
export function corruptedKeys(history: History): ReadonlySet<string> {
  const keys = history.calls.flatMap(({ wasCut, request }) =>
    wasCut && 'key' in request ? [request.key] : [],
  )
  return new Set(keys.map(storeKey))
}

/**
 * I17: a call has at most one effect, an acknowledged one has it at the returned revision, and a
 * refused one has no effect. Effects are recognized by the token of each write. A call to a
 * member whose state silently diverged during the call may have a second effect.
 *
 * @throws Finding
 */
export function checkEffects(history: History, truth: Truth): void {
  const effects = effectsOf(truth)
  for (const call of history.calls) {
    const { request, answer } = call
    if (!('token' in request)) continue
    const found = effects.get(request.token) ?? []
    const most = request.kind === 'write-together' ? request.keys.length : 1
    if (found.length > most && !call.wasCut) {
      throw new Finding('I17 one effect', `revisions ${found.join(', ')} are all of ${labelOf(call)}`)
    }
    if (answer.kind === 'refused' && found.length > 0) {
      throw new Finding('I17 refused without effect', `revision ${found[0]} is of ${labelOf(call)}`)
    }
    const reported =
      answer.kind === 'object' ? [answer.object.revision] : answer.kind === 'done' ? answer.revisions : []
    for (const revision of reported) {
      if (!found.includes(revision))
        throw new Finding('I5 lost write', `no revision ${revision}: ${labelOf(call)}`)
    }
  }
}

/**
 * Deleting a collection leaves no object that belonged to it from the beginning to the end of the
 * call.
 *
 * @throws Finding
 */
export function checkCollectionsDeleted(history: History, truth: Truth): void {
  const begun = newestAtBegin(history)
  for (const call of history.calls) {
    const { request, answer, newest } = call
    if (request.kind !== 'delete-collection' || answer.kind !== 'done') continue
    const { namespace, color } = request.range
    const from = begun.get(call) ?? 0
    for (const version of truth.list(`/configmaps/${namespace ?? ''}/`, from)) {
      const meanwhile = truth
        .versionsOf(version.key)
        .filter(({ revision }) => revision > from && revision <= newest)
      const left = [version, ...meanwhile].some(
        (one) => one.kind === 'deleted' || (color !== null && one.labels?.['color'] !== color),
      )
      if (!left) throw new Finding('deletecollection', `${version.key} stayed: ${labelOf(call)}`)
    }
  }
}

/** Returns the newest acknowledged revision when each call began. */
function newestAtBegin(history: History): Map<Call, number> {
  const ends = history.calls.filter(({ end }) => end !== Infinity).sort((a, b) => a.end - b.end)
  const found = new Map<Call, number>()
  let reported = 0
  let next = 0
  for (const call of history.calls) {
    for (; next < ends.length && (ends[next] as Call).end < call.begin; next++) {
      const { answer } = ends[next] as Call
      if (answer.kind === 'object') reported = Math.max(reported, answer.object.revision)
      if (answer.kind === 'list') reported = Math.max(reported, answer.revision)
    }
    found.set(call, reported)
  }
  return found
}

/** Returns the revisions by the token of their write; without deletions, which have no token. */
function effectsOf(truth: Truth): Map<string, number[]> {
  const effects = new Map<string, number[]>()
  for (let revision = 1; revision <= truth.revision; revision++) {
    const version = truth.version(revision)
    if (version === undefined || version.kind === 'deleted' || !version.key.startsWith('/configmaps/'))
      continue
    const { token } = truth.shown(version)
    const known = effects.get(token)
    if (known === undefined) effects.set(token, [revision])
    else known.push(revision)
  }
  return effects
}

function isMadeUp(key: string): boolean {
  return key.startsWith('/configmaps/default/t')
}
