import { badRequest } from '../../api/errors/standard-errors.ts'
import { readText } from './query-options.ts'
import type { Query, WantedRevision } from './query-options.ts'

/**
 * Consistency of a read, chosen by the header `Orch-Consistency`.
 *
 * - `most-recent` (`linearizable`): everything acknowledged before the request, confirmed by a
 *   quorum
 * - `lease`: the same without a quorum round, if the contacted member is a leader with a lease;
 *   otherwise like `most-recent`. Refused where the settings disable lease reads
 * - `bounded`: at most the given number of ms stale, proven without synchronized clocks
 * - `any`: the state of this member, however stale
 * - `log`: after a log entry that is appended for this read, for comparison
 */
export type ReadMode =
  | Extract<WantedRevision, { readonly kind: 'most-recent' | 'any' }>
  | { readonly kind: 'lease' }
  | { readonly kind: 'bounded'; readonly boundMs: number }
  | { readonly kind: 'log' }

/** The mode that a read was served by, and what is proven about the result. */
export type ReadProof = {
  readonly mode: ProvenMode
  /** Term of this member at the read. */
  readonly term: number
  /** Revision of the state that was read; for a watch, the revision after which it begins. */
  readonly revision: number
  /** Upper bound of the staleness in ms when the result was fixed; null: unknown. */
  readonly boundMs: number | null
  /**
   * Wait for the confirmation by a quorum, and then for the confirmed entries to be applied, in ms.
   */
  readonly waitedMs: { readonly confirm: number; readonly apply: number }
  /** When the result was fixed, in ms of the monotonic clock. */
  readonly fixedMs: number
}

export type ProvenMode = 'linearizable' | 'lease' | 'bounded' | 'any' | 'log' | 'not-older-than' | 'exact'

/** Longest accepted bound in ms. Longer: 400, because `any` serves the same purpose. */
const boundMsMax = 600_000

const allowed = `linearizable, lease, bounded=<1 to ${boundMsMax} ms>, any, log`

/**
 * @param header value of the header; undefined: absent
 * @param byQuery what the query parameters request
 * @throws ApiError `BadRequest`
 */
export function wantedBy(
  { consistency: header, query }: { readonly consistency?: string; readonly query: Query },
  byQuery: WantedRevision,
): WantedRevision | ReadMode {
  if (header === undefined) return byQuery
  const mode = readMode(header.trim())
  if (mode === null) {
    throw badRequest(`Orch-Consistency: Invalid value: ${shown(header)}: must be one of: ${allowed}`)
  }
  const version = readText(query, 'resourceVersion')
  if (version !== '') {
    throw badRequest(
      `Orch-Consistency: Forbidden: ${shown(header)} together with resourceVersion ${shown(version)}: ` +
        'each of them sets the consistency of the read',
    )
  }
  return mode
}

function readMode(text: string): ReadMode | null {
  switch (text) {
    case 'linearizable':
      return { kind: 'most-recent' }
    case 'lease':
    case 'any':
    case 'log':
      return { kind: text }
    default: {
      const bound = /^bounded=([0-9]{1,6})$/.exec(text)?.[1]
      const boundMs = bound === undefined ? 0 : Number(bound)
      return boundMs >= 1 && boundMs <= boundMsMax ? { kind: 'bounded', boundMs } : null
    }
  }
}

/** Returns the value of the response header. @param member name of the member, a DNS label */
export function consistencyText({ mode, term, revision, boundMs }: ReadProof, member: string): string {
  const bound = boundMs === null ? '' : `; bound-ms=${boundMs}`
  return `${mode}; member=${member}; term=${term}; revision=${revision}${bound}`
}

function shown(value: string): string {
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}...` : value)
}
