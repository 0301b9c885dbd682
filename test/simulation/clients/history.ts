import type { ProvenMode } from '../../../src/registry/calls/consistency.ts'
import type { ObservedObject } from './observed-object.ts'

/** How old an answer may be. */
export type Mode =
  | { readonly kind: 'most-recent' }
  /** As the most recent, by other ways. */
  | { readonly kind: 'lease' }
  | { readonly kind: 'log' }
  | { readonly kind: 'bounded'; readonly boundMs: number }
  | { readonly kind: 'any' }
  | { readonly kind: 'not-older-than'; readonly revision: number }
  | { readonly kind: 'exact'; readonly revision: number }

/** Whether what anybody was told before has to be in the answer. */
export function isLinearizable({ kind }: Mode): boolean {
  return kind === 'most-recent' || kind === 'lease' || kind === 'log'
}

/** What a member said of its answer, and when it fixed it, in virtual ms. */
export type Proof = {
  readonly mode: ProvenMode
  readonly boundMs: number | null
  /** That it answered from; of a watch, behind which its events begin. */
  readonly revision: number
  readonly atMs: number
}

/**
 * A version some client was shown, named by what only the cluster and what only its writer could
 * know.
 */
export type KnownVersion = { readonly revision: number; readonly token: string }

/** What is listed or watched: one namespace or all, objects of one color or all. */
export type Range = { readonly namespace: string | null; readonly color: string | null }

/**
 * What a client asked. Keys are `namespace/name`; each write carries a token that no other write
 * has.
 */
export type Request =
  | { readonly kind: 'create'; readonly key: string; readonly token: string }
  | { readonly kind: 'generate'; readonly namespace: string; readonly prefix: string; readonly token: string }
  | {
      readonly kind: 'update'
      readonly key: string
      readonly token: string
      readonly expected: KnownVersion | null
      /** Without a version to replace, a missing object is made. */
      readonly creates: boolean
    }
  | {
      readonly kind: 'patch'
      readonly key: string
      readonly token: string
      readonly expected: KnownVersion | null
    }
  | {
      readonly kind: 'delete'
      readonly key: string
      readonly uid: string | null
      readonly expected: KnownVersion | null
    }
  | { readonly kind: 'delete-collection'; readonly range: Range }
  | { readonly kind: 'create-namespace'; readonly namespace: string }
  | { readonly kind: 'delete-namespace'; readonly namespace: string }
  /** Several objects in one command, below the verbs. */
  | { readonly kind: 'write-together'; readonly keys: readonly string[]; readonly token: string }
  | { readonly kind: 'get'; readonly key: string; readonly mode: Mode }
  | {
      readonly kind: 'list'
      readonly range: Range
      readonly mode: Mode
      readonly limit: number | null
      /** Calls with the same number are pages of one list. */
      readonly pagesOf: number
      readonly page: number
    }

export type Answer =
  | { readonly kind: 'object'; readonly object: ObservedObject }
  /** Deleted; or the revisions of a write below the verbs. */
  | { readonly kind: 'done'; readonly revisions: readonly number[] }
  | {
      readonly kind: 'list'
      readonly revision: number
      readonly objects: readonly ObservedObject[]
      readonly more: boolean
      readonly remaining: number | null
    }
  /** Certainly without effect. `of`: the plural name of what the refusal is about. */
  | { readonly kind: 'refused'; readonly reason: string; readonly of: string }
  /** It may have taken effect, or still may. */
  | { readonly kind: 'unknown' }

/** One request and its answer, on a clock that counts such moments. */
export type Call = {
  readonly client: number
  readonly member: number
  /** Which instance of which process. */
  readonly process: number
  readonly begin: number
  readonly request: Request
  /** Infinite: never result of again. */
  end: number
  /** In virtual ms. */
  endMs: number
  /**
   * The state of that member turned wrong meanwhile, so it was cut off: what it took for lost it
   * may have done again.
   */
  wasCut: boolean
  answer: Answer
  /** Of a get or list that said so; null: of none. */
  proof: Proof | null
  /** The newest revision committed, and the newest trimmed, at its end. */
  newest: number
  trimmed: number
}

/** A moment at which some client saw that a revision exists: an event of a watch. */
export type Observation = { readonly at: number; readonly revision: number }

export type WatchedEvent =
  | { readonly kind: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: ObservedObject }
  | { readonly kind: 'BOOKMARK'; readonly revision: number; readonly initialEnd: boolean }
  | { readonly kind: 'ERROR'; readonly reason: string; readonly trimmed: number }

/** One watch request and all it said. */
export type WatchRecord = {
  readonly watcher: string
  readonly member: number
  readonly range: Range
  /** `after`: events behind a revision; else the state first. */
  readonly start:
    | { readonly kind: 'after'; readonly revision: number }
    | { readonly kind: 'state'; readonly marked: boolean }
  readonly mode: Mode
  /** When it was asked for. */
  readonly begin: number
  /** null: it did not begin. */
  proof: Proof | null
  readonly events: WatchedEvent[]
}

/** What one pull below the verbs gave: events behind `after`; the cursor then stood at `upTo`. */
export type PullRecord = {
  readonly watcher: string
  readonly member: number
  readonly after: number
  readonly upTo: number
  readonly revisions: readonly number[]
}

export type Committed = { readonly revision: number; readonly trimmed: number }

/** All requests and responses of clients, in order. */
export class History {
  readonly calls: Call[] = []
  readonly observations: Observation[] = []
  readonly watches: WatchRecord[] = []
  readonly pulls: PullRecord[] = []
  readonly #committed: () => Committed
  readonly #nowMs: () => number
  #moment = 0

  /** @param nowMs virtual */
  constructor(committed: () => Committed, nowMs: () => number = () => 0) {
    this.#committed = committed
    this.#nowMs = nowMs
  }

  begin(
    by: { readonly client: number; readonly member: number; readonly process: number },
    request: Request,
  ): Call {
    const call: Call = {
      ...by,
      begin: this.#moment++,
      request,
      end: Infinity,
      endMs: Infinity,
      wasCut: false,
      answer: { kind: 'unknown' },
      proof: null,
      newest: 0,
      trimmed: 0,
    }
    this.calls.push(call)
    return call
  }

  end(call: Call, answer: Answer): void {
    const { revision, trimmed } = this.#committed()
    call.newest = revision
    call.trimmed = trimmed
    call.answer = answer
    // What is unknown may take effect later than its answer.
    if (answer.kind === 'unknown') return
    call.end = this.#moment++
    call.endMs = this.#nowMs()
  }

  now(): number {
    return this.#moment++
  }

  observe(revision: number): void {
    this.observations.push({ at: this.#moment++, revision })
  }
}
