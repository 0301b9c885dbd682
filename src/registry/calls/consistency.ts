import { badRequest } from '../../api/errors/standard-errors.ts'
import { readText } from './query-options.ts'
import type { Query, WantedRevision } from './query-options.ts'

/**
 * How new an answer has to be, as a request may choose in its header `Orch-Consistency`.
 *
 * - `most-recent` (`linearizable`): everything acknowledged before it came, by a round with a quorum
 * - `lease`: the same, without a round where the leader is asked and holds a lease
 * - `bounded`: at most so many ms behind, proven without clocks
 * - `any`: whatever this member has
 * - `log`: behind an entry of its own in the log, for comparison
 */
export type ReadMode =
  | Extract<WantedRevision, { readonly kind: 'most-recent' | 'any' }>
  | { readonly kind: 'lease' }
  | { readonly kind: 'bounded'; readonly boundMs: number }
  | { readonly kind: 'log' }

/** By which of them, or by which version, an answer was made, and what is proven of it. */
export type ReadProof = {
  readonly mode: ProvenMode
  /** In which the member was. */
  readonly term: number
  /** Of the state that it was answered from; of a watch, behind which it begins. */
  readonly revision: number
  /** Ms by which the state may have been behind when the answer was fixed; null: nothing is known. */
  readonly boundMs: number | null
  /** How long was waited for a quorum, and for what it confirmed to be applied, in ms. */
  readonly waitedMs: { readonly confirm: number; readonly apply: number }
  /** When the answer was fixed, on the monotonic clock. */
  readonly fixedMs: number
}

export type ProvenMode = 'linearizable' | 'lease' | 'bounded' | 'any' | 'log' | 'not-older-than' | 'exact'

/** Longest bound that may be asked for, in ms. More is `any`. */
const boundMsMax = 600_000

const allowed = `linearizable, lease, bounded=<1 to ${boundMsMax} ms>, any, log`

/**
 * @param header as it came; undefined: there was none
 * @param byQuery what the query asks for
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
        'each of them says how new the answer has to be',
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

/** What is said of an answer, as the value of its header. @param member its name, a DNS label */
export function consistencyText({ mode, term, revision, boundMs }: ReadProof, member: string): string {
  const bound = boundMs === null ? '' : `; bound-ms=${boundMs}`
  return `${mode}; member=${member}; term=${term}; revision=${revision}${bound}`
}

function shown(value: string): string {
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}...` : value)
}
