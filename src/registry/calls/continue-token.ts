import { createHmac, timingSafeEqual } from 'node:crypto'
import { keyOf, partsOf } from '../../store/key.ts'
import type { Key, KeyPrefix } from '../../store/key.ts'
import { revision } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'
import { malformed } from './query-options.ts'

/**
 * Where a page ended and at which revision. The next page needs nothing else, so members keep no
 * state between pages.
 */
export type PagePosition = {
  /** null: the newest revision, for a list whose own revision was compacted. */
  readonly revision: Revision | null
  /** The last object of the page. */
  readonly after: Key
  /** Number of objects after it, if known. */
  readonly remaining: number | null
}

/** Identity of a list: all of its pages have these values in common. */
export type ListScope = {
  /** Namespace of the path; null: all namespaces, or a cluster-scoped kind. */
  readonly namespace: string | null
  readonly prefix: KeyPrefix
  /** Selectors as sent by the client. */
  readonly labelSelector: string
  readonly fieldSelector: string
}

/**
 * Encodes the position as base64url of a tag and JSON. The tag also covers the collection and the
 * selectors, so a token is valid for its list only, on every member, and cannot be forged.
 *
 * @param key the cluster's `continueTokenKey`
 */
export function writeContinueToken(position: PagePosition, scope: ListScope, key: Uint8Array): string {
  const { namespace, name } = partsOf(position.after)
  const payload = Buffer.from(JSON.stringify([position.revision, namespace, name, position.remaining]))
  return Buffer.concat([tagOf(payload, scope, key), payload]).toString('base64url')
}

/** @throws ApiError `BadRequest` unless this cluster made the token for this list */
export function readContinueToken(
  token: string,
  scope: ListScope,
  options: { readonly key: Uint8Array; readonly bytesMax: number },
): PagePosition {
  const bytes = token.length > options.bytesMax ? Buffer.alloc(0) : Buffer.from(token, 'base64url')
  const tag = bytes.subarray(0, tagBytes)
  const payload = bytes.subarray(tagBytes)
  if (tag.length < tagBytes || !timingSafeEqual(tag, tagOf(payload, scope, options.key))) {
    const rule = 'continue key is not valid: it was not made by this cluster for this list and its selectors'
    throw malformed('continue', token, rule)
  }
  // The tag proves that this cluster made the payload.
  const [at, namespace, name, remaining] = JSON.parse(payload.toString()) as Payload
  const [group, plural] = scope.prefix.split('/') as [string, string]
  return {
    revision: at === null ? null : revision(at),
    after: keyOf({ group, plural, namespace, name }),
    remaining,
  }
}

type Payload = readonly [revision: number | null, namespace: string, name: string, remaining: number | null]

/** 128 bits of tag: infeasible to guess, and URLs stay short. */
const tagBytes = 16

function tagOf(payload: Uint8Array, scope: ListScope, key: Uint8Array): Buffer {
  const { prefix, namespace, labelSelector, fieldSelector } = scope
  const list = JSON.stringify([prefix, namespace, labelSelector, fieldSelector])
  const hmac = createHmac('sha256', key).update(`continue ${list}\n`).update(payload)
  return hmac.digest().subarray(0, tagBytes)
}
