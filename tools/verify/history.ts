import type { Side } from './sides.ts'

/** How old an answer may be. @source spec 4.8 */
export type Mode =
  | { readonly kind: 'most-recent' }
  /** As the most recent, by other ways; these three only where a server offers `Orch-Consistency`. */
  | { readonly kind: 'lease' }
  | { readonly kind: 'log' }
  | { readonly kind: 'bounded'; readonly boundMs: number }
  | { readonly kind: 'any' }
  | { readonly kind: 'not-older-than'; readonly revision: number }
  | { readonly kind: 'exact'; readonly revision: number }

/** One version of an object as somebody was shown it. Equal ones are one object in memory. */
export type Version = {
  readonly name: string
  /** Its resourceVersion; of a deletion, that of the deletion. */
  readonly revision: number
  readonly uid: string
  /** Of the write that made it, which no other write has; empty: no client of this run wrote it. */
  readonly token: string
  /** Of all that it says but kind, apiVersion and resourceVersion. */
  readonly digest: string
}

/** A version some client knew and named as a condition. */
export type Expected = { readonly revision: number; readonly token: string }

export type Request =
  | { readonly kind: 'create'; readonly name: string; readonly token: string }
  | {
      readonly kind: 'update'
      readonly name: string
      readonly token: string
      /** null: whatever is there. */
      readonly expected: Expected | null
    }
  | { readonly kind: 'delete'; readonly name: string; readonly expected: Expected | null }
  | { readonly kind: 'get'; readonly name: string; readonly mode: Mode }
  | {
      readonly kind: 'list'
      readonly mode: Mode
      readonly limit: number | null
      /** Calls of one client with the same number are pages of one list. */
      readonly list: number
      readonly page: number
    }

export type Answer =
  /** `created`: it was not there before (201). */
  | { readonly kind: 'object'; readonly version: Version; readonly created: boolean }
  | { readonly kind: 'deleted' }
  | {
      readonly kind: 'list'
      readonly revision: number
      readonly versions: readonly Version[]
      /** Objects shown that are not of this run. */
      readonly foreign: number
      readonly more: boolean
      /** What it says is left; null: it does not say. */
      readonly remaining: number | null
    }
  /** Certainly without effect. `about`: the plural that the refusal is about, empty when it does not say. */
  | { readonly kind: 'refused'; readonly code: number; readonly reason: string; readonly about: string }
  /** It may have taken effect, or still may. */
  | { readonly kind: 'unknown'; readonly why: string }

/**
 * One request and its answer. `begin` and `end` count the moments of the recording, so that of any two it is known
 * which was first; `beginMs` and `endMs` are ms since its start, for people.
 */
export type Call = {
  readonly client: string
  readonly member: string
  /** Which connection, of all that were made. */
  readonly connection: number
  readonly begin: number
  readonly end: number
  readonly beginMs: number
  readonly endMs: number
  readonly request: Request
  readonly answer: Answer
}

export type WatchEvent = {
  readonly at: number
  readonly atMs: number
  /** `OTHER`: of an object that is not of this run; it says only how far the watch has come. */
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'OTHER'
  readonly revision: number
  /** null for `BOOKMARK` and `OTHER`. */
  readonly version: Version | null
}

/** One watch request and all it said. */
export type Watch = {
  readonly id: number
  readonly watcher: string
  readonly member: string
  readonly begin: number
  readonly beginMs: number
  /** Events behind this revision were asked for. */
  readonly after: number
  /** It goes on where an earlier watch of this watcher ended; else where a list was. */
  readonly resumed: boolean
  /** Only objects of that side were asked for; null: everything. */
  readonly side: Side | null
  readonly events: WatchEvent[]
  /** Why it ended; empty: the recording ended first. */
  end: string
}

/** All objects of one member at a revision, once nobody writes any more. */
export type Copy = {
  readonly member: string
  readonly revision: number
  readonly atMs: number
  /** Of the bytes of the answer. */
  readonly digest: string
  readonly versions: readonly Version[]
}

/** What was done to the members meanwhile, as `orchctl chaos` writes it; ms since the start of the recording. */
export type Fault = {
  readonly atMs: number
  readonly endMs: number | null
  readonly kind: string
  readonly target: string
}

export type RunFacts = {
  readonly seed: number
  readonly namespace: string
  readonly members: readonly string[]
  /** Ms since 1970 at the start of the recording. */
  readonly startedMs: number
}

/** Everything that was asked and answered, in the order in which it ended. */
export type History = {
  readonly facts: RunFacts
  readonly calls: readonly Call[]
  readonly watches: readonly Watch[]
  readonly copies: readonly Copy[]
  /** How far every watch should have come; null: the recording did not end in peace. */
  readonly lastRevision: number | null
  readonly endedMs: number
}

export function modeOf(request: Request): Mode {
  if (request.kind !== 'get' && request.kind !== 'list') return { kind: 'most-recent' }
  // A later page has the revision of its token, whatever was asked for first.
  return request.kind === 'list' && request.page > 0 ? { kind: 'any' } : request.mode
}

/** Whatever anybody was told before has to be in the answer. */
export function isLinearizable({ kind }: Mode): boolean {
  return kind === 'most-recent' || kind === 'lease' || kind === 'log'
}

/** The object itself was not there; a missing namespace is another matter. */
export function isMissing({ answer }: Call): boolean {
  return answer.kind === 'refused' && answer.reason === 'NotFound' && answer.about === 'configmaps'
}

/** Said by the server in so many words; not how long it took. */
export function isAnswered({ answer }: Call): boolean {
  return answer.kind !== 'unknown' && answer.kind !== 'refused'
}

export function isWrite({ kind }: Request): boolean {
  return kind === 'create' || kind === 'update' || kind === 'delete'
}
