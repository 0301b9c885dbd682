import type { UserInfo } from '../api/object.ts'

/** One API call below the HTTP layer: who, by when, and what to tell them besides the answer. */
export type RequestContext = {
  readonly user: UserInfo
  readonly userAgent: string
  /** On the monotonic clock. */
  readonly deadlineMs: number
  /** Aborted when the client is gone. A write that was proposed goes on. */
  readonly signal: AbortSignal
  /** Sends a `Warning: 299` header with the answer. Bounded; later ones are dropped. */
  readonly warn: (text: string) => void
}

/** The object or collection a call is about. */
export type Target = {
  /** null: all namespaces, or a cluster-scoped kind. */
  readonly namespace: string | null
  /** null: the collection. */
  readonly name: string | null
  readonly subresource: string | null
}
