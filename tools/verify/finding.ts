import { verifyLimits } from './limits.ts'

/** What went wrong, by name. */
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

/** For people: what each kind means, in one line. */
export const anomalyDescriptions: Readonly<Record<AnomalyKind, string>> = Object.freeze({
  'stale-read': 'a most recent read showed what had been replaced before it began',
  'lost-write': 'a write was acknowledged and not kept',
  'lost-update': 'a conditional write replaced another version than the one it named',
  'not-linearizable': 'no order of the calls on one object explains their answers',
  'revision-order': 'revisions do not follow real time',
  'two-versions': 'one revision has two contents',
  phantom: 'something was shown that nobody wrote',
  'wrong-list': 'a list is not the state at its revision',
  'torn-pages': 'the pages of one list are not one state',
  'beyond-bound': 'an answer is further behind than was asked for',
  'wrong-mode': 'an answer is older, or of another revision, than was asked for',
  'dropped-event': 'a watch left out a change',
  'event-order': 'a watch told an older change after a newer one',
  'repeated-event': 'a watch told one change twice',
  'wrong-event': 'a watch told a change as what it was not',
  'false-bookmark': 'a bookmark came before a change it claims was told',
  'reads-go-back': 'reads on one connection went back in time',
  'members-differ': 'members have different objects at one revision',
})

/** One line of the history that shows it. */
export type EvidenceLine = { readonly atMs: number; readonly text: string }

export type Anomaly = {
  readonly kind: AnomalyKind
  /** One sentence with names, revisions and members. */
  readonly text: string
  readonly atMs: number
  /** null: not about one object. */
  readonly object: string | null
  readonly members: readonly string[]
  /** The smallest part of the history that shows it, in the order of time. */
  readonly witnesses: readonly EvidenceLine[]
}

export type Verdict =
  | 'ok'
  | 'anomaly'
  /** It was looked into and could not be decided. */
  | 'undecided'
  /** Nothing of the kind was recorded. */
  | 'no-data'
  /** It means nothing here, such as comparing one member. */
  | 'not-applicable'

export type CheckReport = {
  readonly check: string
  readonly verdict: Verdict
  /** What was looked into, such as `20 objects, 4,211 calls`. */
  readonly examined: string
  /** Why it is undecided; empty otherwise. */
  readonly note: string
  readonly anomalies: readonly Anomaly[]
  /** Anomalies beyond those told. */
  readonly untold: number
}

/** Collects what one check finds, each thing once, up to the limit. */
export class Findings {
  readonly #anomalies = new Map<string, Anomaly>()
  #omitted = 0

  /** @param of what it is about: the same thing is told once @param make called only when it will be told */
  add(of: string, make: () => Anomaly): void {
    if (this.#anomalies.has(of)) return
    if (this.#anomalies.size >= verifyLimits.anomaliesMax) this.#omitted++
    else this.#anomalies.set(of, make())
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
    return { check, verdict, examined: of.examined, note, anomalies, untold: this.#omitted }
  }
}

/** `1 object`, `2,000 objects`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`
}
