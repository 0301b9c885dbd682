import type { Call, Expected, History, Request, Version, Watch, WatchEvent } from './history.ts'
import { isWrite } from './history.ts'

/** A revision at which an object changed, as observed by a client. */
export type Change = {
  readonly revision: number
  /** For a deletion: the deleted version as a watch returned it. */
  readonly version: Version
  readonly deleted: boolean
}

/** A deletion that may have happened. */
type Deletion = {
  readonly call: Call
  /** If it happened, its revision is above this one. */
  readonly above: number
  /** If it happened, its revision is below this one. */
  readonly below: number
}

/** Proof that a revision exists: the answer of a call, or an event. */
export type Observation = {
  readonly at: number
  readonly revision: number
  readonly by: Call | WatchEventRef
}

export type WatchEventRef = { readonly watch: Watch; readonly event: WatchEvent }

/** Everything that was observed of one object. */
export type ObjectHistory = {
  readonly name: string
  /** Ascending by revision. */
  readonly changes: Change[]
  readonly deletions: Deletion[]
}

/**
 * Everything that a history proves about the actual state. It uses only what clients observed, so
 * it can prove that an answer is wrong and never reports a false anomaly.
 */
export class HistoryIndex {
  readonly history: History
  readonly objects = new Map<string, ObjectHistory>()
  /** Revisions with two different contents. */
  readonly conflicts: { readonly revision: number; readonly one: Version; readonly other: Version }[] = []
  /** All observations in order of time. */
  readonly observations: readonly Observation[]
  /** The call that wrote a version, by token. */
  readonly writers = new Map<string, Call>()
  /** For each observation, the one with the highest revision so far. */
  readonly #newest: Observation[] = []
  readonly #byRevision = new Map<number, Change>()
  /** By token, the value of `firstReadAt`. */
  readonly #firstReadAt = new Map<string, number>()

  constructor(history: History) {
    this.history = history
    for (const call of history.calls) if ('token' in call.request) this.writers.set(call.request.token, call)
    this.observations = observationsOf(history)
    for (const observation of this.observations) {
      const before = this.#newest[this.#newest.length - 1]
      this.#newest.push(before === undefined || observation.revision > before.revision ? observation : before)
    }
    this.#indexAnswers()
    this.#indexEvents()
    for (const { versions } of history.copies) for (const version of versions) this.#put(version, Infinity)
    this.#indexConditions()
    for (const object of this.objects.values()) object.changes.sort((a, b) => a.revision - b.revision)
    this.#indexDeletions()
  }

  /** Returns the observation of the highest revision before `moment`. */
  newestBefore(moment: number): Observation | null {
    let [low, high] = [0, this.observations.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.observations[middle] as Observation).at < moment) low = middle + 1
      else high = middle
    }
    return this.#newest[low - 1] ?? null
  }

  /** Returns the last change of an object up to a revision. */
  lastChangeUpTo(name: string, revision: number): Change | null {
    const changes = this.objects.get(name)?.changes ?? []
    return changes[indexAfter(changes, revision) - 1] ?? null
  }

  /** Returns the first change of an object after a revision. */
  nextChangeAfter(name: string, revision: number): Change | null {
    const changes = this.objects.get(name)?.changes ?? []
    return changes[indexAfter(changes, revision)] ?? null
  }

  /**
   * Whether an object may be absent from the state at `revision`, if that state was returned at
   * `moment`.
   */
  mayBeAbsent(name: string, revision: number, moment: number): boolean {
    const last = this.lastChangeUpTo(name, revision)
    if (last === null || last.deleted) return true
    const deletions = this.objects.get(name)?.deletions ?? []
    return deletions.some(
      ({ call, above, below }) =>
        // The deletion may have a revision after `above` and after the last change, before `below`,
        // and at most `revision`.
        call.begin < moment && Math.max(above, last.revision) < Math.min(below - 1, revision),
    )
  }

  /**
   * Whether an object may have been deleted after `revision`: a watch returned a deletion, or a
   * call that began before `moment` may have deleted it.
   */
  mayBeDeletedAfter(name: string, revision: number, moment: number): boolean {
    const object = this.objects.get(name)
    if (object === undefined) return true
    if (object.changes.some((change) => change.deleted && change.revision > revision)) return true
    return object.deletions.some(({ call, below }) => call.begin < moment && below - 1 > revision)
  }

  /**
   * Returns when another call or an event first returned the version, or a precondition first held
   * for it. Infinity: only a copy returned it; a copy is taken after all calls. null: only the
   * writing call may have returned it.
   */
  firstReadAt(token: string): number | null {
    return this.#firstReadAt.get(token) ?? null
  }

  #indexAnswers(): void {
    for (const call of this.history.calls) {
      const { answer, request, end } = call
      if (answer.kind === 'object') {
        const own = 'token' in request && request.token === answer.version.token
        this.#put(answer.version, own ? null : end)
      }
      if (answer.kind === 'list') for (const version of answer.versions) this.#put(version, end)
    }
  }

  /** A precondition that held proves its version, if the revision has one version only. */
  #indexConditions(): void {
    const conflicting = new Set(this.conflicts.map(({ revision }) => revision))
    for (const { request, answer, end } of this.history.calls) {
      const isDone = answer.kind === 'object' || answer.kind === 'deleted'
      const expected = isDone && 'expected' in request ? request.expected : null
      if (expected !== null && !conflicting.has(expected.revision)) this.#recordRead(expected.token, end)
    }
  }

  #indexEvents(): void {
    for (const watch of this.history.watches) {
      for (const { type, version, at } of watch.events) {
        if (version === null) continue
        if (type !== 'DELETED') this.#put(version, at)
        // With a selector, an object that leaves the selection is reported as deleted, too.
        else if (watch.side === null) this.#add({ revision: version.revision, version, deleted: true }, at)
      }
    }
  }

  /** @param readAt when it was returned; null: by the writing call */
  #put(version: Version, readAt: number | null): void {
    this.#add({ revision: version.revision, version, deleted: false }, readAt)
  }

  #add(change: Change, readAt: number | null): void {
    const { revision, version } = change
    if (readAt !== null) this.#recordRead(version.token, readAt)
    const known = this.#byRevision.get(revision)
    if (known !== undefined) {
      const isSame = known.deleted === change.deleted && equalVersions(known.version, version)
      if (!isSame) this.conflicts.push({ revision, one: known.version, other: version })
      return
    }
    this.#byRevision.set(revision, change)
    this.#objectOf(version.name).changes.push(change)
  }

  #recordRead(token: string, at: number): void {
    this.#firstReadAt.set(token, Math.min(this.#firstReadAt.get(token) ?? Infinity, at))
  }

  #objectOf(name: string): ObjectHistory {
    let object = this.objects.get(name)
    if (object === undefined) this.objects.set(name, (object = { name, changes: [], deletions: [] }))
    return object
  }

  #indexDeletions(): void {
    const bounds = new RevisionBounds(this.history)
    for (const call of this.history.calls) {
      const { request, answer } = call
      if (request.kind !== 'delete' || answer.kind === 'refused') continue
      const above = this.newestBefore(call.begin)?.revision ?? 0
      const below = answer.kind === 'deleted' ? bounds.upperBound(call.end) : Infinity
      this.#objectOf(request.name).deletions.push({ call, ...this.#within(request, { above, below }) })
    }
  }

  /** A deletion with a precondition comes after the expected version and before the next change. */
  #within(
    { name, expected }: { readonly name: string; readonly expected: Expected | null },
    bounds: { readonly above: number; readonly below: number },
  ): { readonly above: number; readonly below: number } {
    if (expected === null) return bounds
    const next = this.nextChangeAfter(name, expected.revision)
    // The next change may be this deletion itself.
    const end = next === null ? Infinity : next.deleted ? next.revision + 1 : next.revision
    return { above: Math.max(bounds.above, expected.revision), below: Math.min(bounds.below, end) }
  }
}

/** Upper bounds: a write that began after a call ended has a revision above that of the call. */
class RevisionBounds {
  readonly #begins: { readonly begin: number; readonly revision: number }[]

  constructor({ calls }: History) {
    const made: { begin: number; revision: number }[] = []
    for (const { request, answer, begin } of calls) {
      if (isWrite(request) && answer.kind === 'object')
        made.push({ begin, revision: answer.version.revision })
    }
    made.sort((a, b) => a.begin - b.begin)
    for (let at = made.length - 2; at >= 0; at--) {
      const one = made[at]
      if (one !== undefined) one.revision = Math.min(one.revision, made[at + 1]?.revision ?? Infinity)
    }
    this.#begins = made
  }

  /** Returns the upper bound for a call that ended at that time. */
  upperBound(end: number): number {
    let [low, high] = [0, this.#begins.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#begins[middle]?.begin ?? 0) <= end) low = middle + 1
      else high = middle
    }
    return this.#begins[low]?.revision ?? Infinity
  }
}

function observationsOf({ calls, watches }: History): Observation[] {
  const observations: Observation[] = []
  for (const call of calls) {
    const { answer, end } = call
    if (answer.kind === 'object') observations.push({ at: end, revision: answer.version.revision, by: call })
    if (answer.kind === 'list') observations.push({ at: end, revision: answer.revision, by: call })
  }
  for (const watch of watches) {
    for (const event of watch.events)
      observations.push({ at: event.at, revision: event.revision, by: { watch, event } })
  }
  return observations.sort((a, b) => a.at - b.at)
}

export function equalVersions(one: Version, other: Version): boolean {
  if (one === other) return true
  return (
    one.revision === other.revision &&
    one.name === other.name &&
    one.uid === other.uid &&
    one.token === other.token &&
    one.digest === other.digest
  )
}

/** Returns the index of the first change after a revision. */
function indexAfter(changes: readonly Change[], revision: number): number {
  let [low, high] = [0, changes.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((changes[middle]?.revision ?? 0) <= revision) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the name that a request is about; null: all objects. */
export function nameOf(request: Request): string | null {
  return 'name' in request ? request.name : null
}
