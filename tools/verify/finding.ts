import { verifyLimits } from './limits.ts'

/** Kinds of anomalies. */
export type AnomalyKind =
  | 'stale-read'
  | 'lost-write'
  | 'lost-update'
  | 'not-linearizable'
  | 'revision-order'
  | 'two-versions'
  | 'phantom'
  | 'wrong-list'
  | 'torn-pages'
  | 'wrong-mode'
  | 'beyond-bound'
  | 'dropped-event'
  | 'event-order'
  | 'repeated-event'
  | 'wrong-event'
  | 'false-bookmark'
  | 'reads-go-back'
  | 'members-differ'

/** One line of explanation for each kind. */
export const anomalyDescriptions: Readonly<Record<AnomalyKind, string>> = Object.freeze({
  'stale-read': 'a most recent read missed a change that was known before the read began',
  'lost-write': 'a write was acknowledged and not kept',
  'lost-update': 'a conditional write replaced a version other than its precondition',
  'not-linearizable': 'no order of the calls on one object explains their answers',
  'revision-order': 'revisions are not in the order of real time',
  'two-versions': 'one revision has two contents, or one uid belongs to two objects',
  phantom: 'a version was returned that was never written',
  'wrong-list': 'a list is not the state at its revision',
  'torn-pages': 'the pages of one list are not one state',
  'beyond-bound': 'an answer is older than its bound allows',
  'wrong-mode': 'an answer is older than requested, or of another revision',
  'dropped-event': 'a watch missed a change',
  'event-order': 'a watch sent an older change after a newer one',
  'repeated-event': 'a watch sent one change twice',
  'wrong-event': 'a watch sent a change with the wrong type or content',
  'false-bookmark': 'a bookmark was sent before a change that it covers',
  'reads-go-back': 'reads on one connection went back in time',
  'members-differ': 'members have different objects at one revision',
})

/** One line of the history that proves an anomaly. */
export type EvidenceLine = { readonly atMs: number; readonly text: string }

export type Anomaly = {
  readonly kind: AnomalyKind
  /** One sentence with names, revisions and members. */
  readonly text: string
  readonly atMs: number
  /** null: not about a single object. */
  readonly object: string | null
  readonly members: readonly string[]
  /** A small part of the history that shows it, in order of time. */
  readonly witnesses: readonly EvidenceLine[]
}

export type Verdict =
  | 'ok'
  | 'anomaly'
  /** The check could not decide. */
  | 'undecided'
  /** The history has no data for this check. */
  | 'no-data'
  /** The check does not apply, such as comparing a single member. */
  | 'not-applicable'

export type CheckReport = {
  readonly check: string
  readonly verdict: Verdict
  /** The data that was checked, such as `20 objects, 4,211 answers`. */
  readonly examined: string
  /** Why it is undecided, or what limits the verdict. Empty: no remark. */
  readonly note: string
  readonly anomalies: readonly Anomaly[]
  /** Number of anomalies beyond the limit. */
  readonly unreported: number
}

/** Collects the anomalies of one check, deduplicated, up to the limit. Counts those beyond it. */
export class Findings {
  readonly #anomalies = new Map<string, Anomaly>()
  /** The keys of those beyond the limit. */
  readonly #omitted = new Set<string>()

  /** @param key for deduplication @param make called only for anomalies that are kept */
  add(key: string, make: () => Anomaly): void {
    if (this.#anomalies.has(key)) return
    if (this.#anomalies.size >= verifyLimits.anomaliesMax) this.#omitted.add(key)
    else this.#anomalies.set(key, make())
  }

  report(
    check: string,
    of: { readonly examined: string; readonly count: number; readonly note?: string },
  ): CheckReport {
    const anomalies = [...this.#anomalies.values()].sort((a, b) => a.atMs - b.atMs)
    const note = of.note ?? ''
    let verdict: Verdict = 'ok'
    if (anomalies.length > 0) verdict = 'anomaly'
    else if (note !== '') verdict = 'undecided'
    else if (of.count === 0) verdict = 'no-data'
    return { check, verdict, examined: of.examined, note, anomalies, unreported: this.#omitted.size }
  }
}

/** Returns a text such as `1 object` or `2,000 objects`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`
}
