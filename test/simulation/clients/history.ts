import type { ProvenMode } from '../../../src/registry/calls/consistency.ts'
import type { ObservedObject } from './observed-object.ts'

/** The allowed staleness of a response. */
export type Mode =
  | { readonly kind: 'most-recent' }
  /** `lease` and `log` are most recent, too, proven by other means. */
  | { readonly kind: 'lease' }
  | { readonly kind: 'log' }
  | { readonly kind: 'bounded'; readonly boundMs: number }
  | { readonly kind: 'any' }
  | { readonly kind: 'not-older-than'; readonly revision: number }
  | { readonly kind: 'exact'; readonly revision: number }

/** Returns whether the response has to include everything acknowledged before. */
export function isLinearizable({ kind }: Mode): boolean {
  return kind === 'most-recent' || kind === 'lease' || kind === 'log'
}

/** The proof that a member gave with its response, and the virtual time in ms of that proof. */
export type Proof = {
  readonly mode: ProvenMode
  readonly boundMs: number | null
  /** The revision of the response; for a watch, its events begin after it. */
  readonly revision: number
  readonly atMs: number
}

/**
 * A version that some client received, identified by its revision, which the cluster assigned, and
 * its token, which its writer chose.
 */
export type KnownVersion = { readonly revision: number; readonly token: string }

/** The range of a list or watch: one namespace or all, objects of one color or all. */
export type Range = { readonly namespace: string | null; readonly color: string | null }

/** The request of a client. Keys are `namespace/name`; each write has a unique token. */
export type Request =
  | { readonly kind: 'create'; readonly key: string; readonly token: string }
  | { readonly kind: 'generate'; readonly namespace: string; readonly prefix: string; readonly token: string }
  | {
      readonly kind: 'update'
      readonly key: string
      readonly token: string
      readonly expected: KnownVersion | null
      /** Whether the request creates the object if it does not exist. */
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
  /** Several objects in one command, written to the store directly. */
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
  /** The call took effect; with the revisions of a `write-together`. */
  | { readonly kind: 'done'; readonly revisions: readonly number[] }
  | {
      readonly kind: 'list'
      readonly revision: number
      readonly objects: readonly ObservedObject[]
      readonly more: boolean
      readonly remaining: number | null
    }
  /** The call had no effect. `of`: the plural name of the resource that the refusal is about. */
  | { readonly kind: 'refused'; readonly reason: string; readonly of: string }
  /** The call may have taken effect, or may still do so. */
  | { readonly kind: 'unknown' }

/** One request and its response, on a clock that counts these events. */
export type Call = {
  readonly client: number
  readonly member: number
  /** Identifies one process. */
  readonly process: number
  readonly begin: number
  readonly request: Request
  /** Infinity: the outcome is never known. */
  end: number
  /** In virtual ms. */
  endMs: number
  /**
   * Whether the state of that member turned wrong during the call, so that its clients were
   * disconnected. The member may have repeated the write as if it had been lost.
   */
  wasCut: boolean
  answer: Answer
  /** The proof of a get or list; null: without one. */
  proof: Proof | null
  /** The newest committed and the newest compacted revision when the call ended. */
  newest: number
  trimmed: number
}

/** An event of a watch that proves the existence of a revision. */
export type Observation = { readonly at: number; readonly revision: number }

export type WatchedEvent =
  | { readonly kind: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: ObservedObject }
  | { readonly kind: 'BOOKMARK'; readonly revision: number; readonly initialEnd: boolean }
  | { readonly kind: 'ERROR'; readonly reason: string; readonly trimmed: number }

/** One watch request and all of its events. */
export type WatchRecord = {
  readonly watcher: string
  readonly member: number
  readonly range: Range
  /** `after`: events after a revision; otherwise the state first. */
  readonly start:
    | { readonly kind: 'after'; readonly revision: number }
    | { readonly kind: 'state'; readonly marked: boolean }
  readonly mode: Mode
  /** Time of the request. */
  readonly begin: number
  /** null: the watch did not begin. */
  proof: Proof | null
  readonly events: WatchedEvent[]
}

/** One read of a watch cursor of the store: events after `after`; the cursor is then at `upTo`. */
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

  /** @param nowMs virtual time */
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
    // A call with an unknown outcome may take effect later.
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
