import type { ApiError } from './errors/api-error.ts'
import type { JsonObject } from './json.ts'
import { statusOf } from './errors/status.ts'

/** @source spec 6.1; ERROR carries a `Status` and is the last */
export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

/** The text that precedes an object's JSON in a stream; `WATCH_EVENT_SUFFIX` follows it. */
export const WATCH_EVENT_PREFIXES = Object.freeze({
  ADDED: '{"type":"ADDED","object":',
  MODIFIED: '{"type":"MODIFIED","object":',
  DELETED: '{"type":"DELETED","object":',
  BOOKMARK: '{"type":"BOOKMARK","object":',
  ERROR: '{"type":"ERROR","object":',
}) satisfies Record<WatchEventType, string>

export const WATCH_EVENT_SUFFIX = '}\n'

/**
 * Annotation, without its domain, of the bookmark that ends the initial events of a watch with
 * `sendInitialEvents`.
 */
export const INITIAL_EVENTS_END = 'initial-events-end'

/**
 * Returns a bookmark, which states that every event up to `revision` was sent.
 *
 * @param annotation key to set to `true`, or null
 */
export function bookmarkEvent(
  of: { readonly apiVersion: string; readonly kind: string },
  revision: number | bigint,
  annotation: string | null = null,
): string {
  const { kind, apiVersion } = of
  const object = { kind, apiVersion, metadata: bookmarkMetadata(revision, annotation) }
  return `${WATCH_EVENT_PREFIXES.BOOKMARK}${JSON.stringify(object)}${WATCH_EVENT_SUFFIX}`
}

/** The metadata of a bookmark's object. @param annotation key to set to `true`, or null */
export function bookmarkMetadata(
  revision: number | bigint,
  annotation: string | null,
): JsonObject & { readonly creationTimestamp: null } {
  return {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(annotation === null ? {} : { annotations: { [annotation]: 'true' } }),
  }
}

/** Returns the event that ends a watch, with the reason as a `Status`. */
export function errorEvent(error: ApiError): string {
  return `${WATCH_EVENT_PREFIXES.ERROR}${JSON.stringify(statusOf(error))}${WATCH_EVENT_SUFFIX}`
}
