import { notFound } from '../../api/errors/standard-errors.ts'
import type { Json } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { keyOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { ReadProof } from './consistency.ts'
import { placeOf, resourceOf } from '../kinds/definition.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'

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
  /** Told what is proven of a read, once it is. Unset: nobody wants to know. */
  proven?(proof: ReadProof): void
  /** Told what the body says, once it was read. Unset, as the next two: nobody writes it down. */
  received?(body: Json): void
  /** Told the object or `Status` that is the answer, in JSON, where not only its metadata was wanted. */
  answered?(bytes: Uint8Array, isStatus: boolean): void
  /** Has the audit log say this of the call; the first value of a key stays. @param from the level that keeps it, `Metadata` when unset */
  readonly annotate?: (key: string, value: string, from?: 'Metadata' | 'Request') => void
}

/** The object or collection a call is about. */
export type Target = {
  /** null: all namespaces, or a cluster-scoped kind. */
  readonly namespace: string | null
  /** null: the collection. */
  readonly name: string | null
  readonly subresource: string | null
}

/**
 * Where the object of a target lies.
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
