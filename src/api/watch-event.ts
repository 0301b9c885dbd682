import type { ApiError } from './api-error.ts'
import { statusOf } from './status.ts'

/** @source spec 6.1; ERROR carries a `Status` and is the last */
export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

/** What stands before an object's JSON in a stream; `WATCH_EVENT_SUFFIX` follows it. */
export const WATCH_EVENT_PREFIXES = Object.freeze({
  ADDED: '{"type":"ADDED","object":',
  MODIFIED: '{"type":"MODIFIED","object":',
  DELETED: '{"type":"DELETED","object":',
  BOOKMARK: '{"type":"BOOKMARK","object":',
  ERROR: '{"type":"ERROR","object":',
}) satisfies Record<WatchEventType, string>

export const WATCH_EVENT_SUFFIX = '}\n'

/** Set on the bookmark that ends the first state of a watch asked with `sendInitialEvents`. */
export const INITIAL_EVENTS_END = 'initial-events-end'

/** Says that everything up to `revision` was sent. @param annotation key to set to `true`, or null */
export function bookmarkEvent(
  of: { readonly apiVersion: string; readonly kind: string },
  revision: number | bigint,
  annotation: string | null = null,
): string {
  const marked = annotation === null ? '' : `,"annotations":{${JSON.stringify(annotation)}:"true"}`
  const head = `"kind":${JSON.stringify(of.kind)},"apiVersion":${JSON.stringify(of.apiVersion)}`
  const meta = `"metadata":{"resourceVersion":"${revision}","creationTimestamp":null${marked}}`
  return `${WATCH_EVENT_PREFIXES.BOOKMARK}{${head},${meta}}${WATCH_EVENT_SUFFIX}`
}

/** Ends a watch with its reason. */
export function errorEvent(error: ApiError): string {
  return `${WATCH_EVENT_PREFIXES.ERROR}${JSON.stringify(statusOf(error))}${WATCH_EVENT_SUFFIX}`
}
