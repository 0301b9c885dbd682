import type { Side } from './sides.ts'

/** Consistency mode of a read. @source spec 4.8 */
export type Mode =
  | { readonly kind: 'most-recent' }
  /** `lease`, `log` and `bounded` need a server with `Orch-Consistency`. */
  | { readonly kind: 'lease' }
  | { readonly kind: 'log' }
  | { readonly kind: 'bounded'; readonly boundMs: number }
  | { readonly kind: 'any' }
  | { readonly kind: 'not-older-than'; readonly revision: number }
  | { readonly kind: 'exact'; readonly revision: number }

/** One version of an object as returned to a client. Equal versions share one object in memory. */
export type Version = {
  readonly name: string
  /** Its resourceVersion; for a deletion the revision of the deletion. */
  readonly revision: number
  readonly uid: string
  /** Unique token of the write that created it; empty: not written by a client of this run. */
  readonly token: string
  /** Digest of the content without kind, apiVersion and resourceVersion. */
  readonly digest: string
}

/** A version that a client used as a precondition. */
export type Expected = { readonly revision: number; readonly token: string }

export type Request =
  | { readonly kind: 'create'; readonly name: string; readonly token: string }
  | {
      readonly kind: 'update'
      readonly name: string
      readonly token: string
      /** null: no precondition. */
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
  /** `created`: the object did not exist before (status 201). */
  | { readonly kind: 'object'; readonly version: Version; readonly created: boolean }
  | { readonly kind: 'deleted' }
  | {
      readonly kind: 'list'
      readonly revision: number
      readonly versions: readonly Version[]
      /** Number of returned objects that do not belong to this run. */
      readonly foreign: number
      readonly more: boolean
      /** The returned `remainingItemCount`; null: absent. */
      readonly remaining: number | null
    }
  /** The request had no effect. `about`: the plural that the rejection names; empty if none. */
  | { readonly kind: 'refused'; readonly code: number; readonly reason: string; readonly about: string }
  /** The request may have taken effect, or may still do so. */
  | { readonly kind: 'unknown'; readonly why: string }

/**
 * One request and its answer. `begin` and `end` are logical times of the recording, unique and
 * ordered; `beginMs` and `endMs` are ms since its start, for reports.
 */
export type Call = {
  readonly client: string
  readonly member: string
  /** Number of the connection among all connections of the recording; 0: there was none. */
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
  /**
   * `OTHER`: the event is about an object that does not belong to this run; it only shows progress.
   */
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'OTHER'
  readonly revision: number
  /** null for `BOOKMARK` and `OTHER`. */
  readonly version: Version | null
}

/** One watch request and all its events. */
export type Watch = {
  readonly id: number
  readonly watcher: string
  readonly member: string
  readonly begin: number
  readonly beginMs: number
  /** The watch was requested from this revision. */
  readonly after: number
  /** True if it continues an earlier watch of this watcher; false if it follows a list. */
  readonly resumed: boolean
  /** Label selector of the watch; null: all objects. */
  readonly side: Side | null
  readonly events: WatchEvent[]
  /** Why it ended; empty: the recording ended first. */
  end: string
}

/** All objects of one member at one revision, after the last write. */
export type Copy = {
  readonly member: string
  readonly revision: number
  readonly atMs: number
  /** Digest of the items of the list as JSON text. */
  readonly digest: string
  readonly versions: readonly Version[]
}

/**
 * A fault that was injected, as `orchctl chaos` records it; ms since the start of the recording.
 */
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
  /** Start of the recording, ms since 1970. */
  readonly startedMs: number
}

/** All calls in the order in which they ended, and all watches in the order in which they began. */
export type History = {
  readonly facts: RunFacts
  readonly calls: readonly Call[]
  readonly watches: readonly Watch[]
  readonly copies: readonly Copy[]
  /**
   * The revision that every watch without a selector should have reached; null: the recording did
   * not complete.
   */
  readonly lastRevision: number | null
  readonly endedMs: number
}

export function modeOf(request: Request): Mode {
  if (request.kind !== 'get' && request.kind !== 'list') return { kind: 'most-recent' }
  // A later page has the revision of its continue token, whatever mode the list was requested in.
  return request.kind === 'list' && request.page > 0 ? { kind: 'any' } : request.mode
}

/** Returns whether the answer must reflect everything that was acknowledged before the call. */
export function isLinearizable({ kind }: Mode): boolean {
  return kind === 'most-recent' || kind === 'lease' || kind === 'log'
}

/** Returns whether the object itself did not exist; a missing namespace does not count. */
export function isMissing({ answer }: Call): boolean {
  return answer.kind === 'refused' && answer.reason === 'NotFound' && answer.about === 'configmaps'
}

/** Returns whether the request succeeded: it was neither refused nor left without an outcome. */
export function isAnswered({ answer }: Call): boolean {
  return answer.kind !== 'unknown' && answer.kind !== 'refused'
}

export function isWrite({ kind }: Request): boolean {
  return kind === 'create' || kind === 'update' || kind === 'delete'
}
