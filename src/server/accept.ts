import { JSON_SERVED, negotiate } from '../api/media-type.ts'

/** @throws ApiError `NotAcceptable` when the client takes no plain JSON */
export function mustAcceptJson(header: string | undefined): void {
  if (header !== undefined && !PLAIN.has(header)) negotiate(header, JSON_SERVED)
}

/** What most requests say, spared the parsing. */
const PLAIN: ReadonlySet<string> = new Set(['', '*/*', 'application/json', 'application/json, */*'])
