import { notFound } from '../../api/errors/standard-errors.ts'
import type { Json } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { keyOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { ReadProof } from './consistency.ts'
import { placeOf, resourceOf } from '../kinds/definition.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'

/** One API call below the HTTP layer: the user, the deadline, and sinks for side results. */
export type RequestContext = {
  readonly user: UserInfo
  readonly userAgent: string
  /** On the monotonic clock. */
  readonly deadlineMs: number
  /**
   * Aborted when the client has disconnected or the time is up. A write that was proposed before
   * may still be committed.
   */
  readonly signal: AbortSignal
  /**
   * The server makes this call for itself: a controller, its bootstrap. Unset: a client makes it.
   */
  readonly isInternal?: true
  /** The W3C trace context, as sent. Unset: none. */
  readonly trace?: { readonly traceparent: string; readonly tracestate: string }
  /** Adds a `Warning: 299` header to the response. Bounded; excess warnings are dropped. */
  readonly warn: (text: string) => void
  /** Called with the consistency proof of a read. Unset: the caller does not need it. */
  proven?(proof: ReadProof): void
  /** Called when the response is that of an earlier request with the same idempotency key. */
  replayed?(): void
  /**
   * Called with the body after it was parsed. Unset, like the next two members: the call is not
   * audited.
   */
  received?(body: Json): void
  /**
   * Called with the object or `Status` of the response in JSON, unless only its metadata was
   * requested.
   */
  answered?(bytes: Uint8Array, isStatus: boolean): void
  /**
   * Adds an annotation to the audit event; the first value of a key wins. @param from lowest audit
   * level that keeps it, `Metadata` when unset
   */
  readonly annotate?: (key: string, value: string, from?: 'Metadata' | 'Request') => void
  /**
   * Called with the time that admission took for a plugin or a webhook. Unset: nothing needs it.
   */
  readonly admissionTook?: (step: AdmissionStep, ms: number) => void
}

/** A part of admission that takes time. */
export type AdmissionStep = {
  readonly kind: 'plugin' | 'webhook'
  readonly phase: 'mutating' | 'validating'
  readonly name: string
}

/** The object or collection of a call. */
export type Target = {
  /** null: all namespaces, or a cluster-scoped kind. */
  readonly namespace: string | null
  /** null: the collection. */
  readonly name: string | null
  readonly subresource: string | null
}

/**
 * Returns the storage key of a target.
 *
 * @throws ApiError `NotFound` for a name that no object can have
 */
export function keyOfTarget(definition: ResourceDefinition, target: Target): Key {
  const name = target.name ?? ''
  const namespace = target.namespace ?? ''
  if (name === '' || name.includes('/') || namespace.includes('/'))
    throw notFound(resourceOf(definition), name)
  const { group, plural } = placeOf(definition)
  return keyOf({ group, plural, namespace, name })
}
