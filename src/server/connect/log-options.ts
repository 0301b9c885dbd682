import { badRequest } from '../../api/errors/standard-errors.ts'
import { fieldForbidden, invalid } from '../../api/errors/field-error.ts'
import { requireValid } from '../../api/errors/findings.ts'
import { formatInstant, parseTime } from '../../api/metadata/time.ts'
import { firstOf, isSet } from '../http/query.ts'
import type { Query } from '../http/query.ts'

/** The valid options of a request for logs. */
export type LogOptions = {
  /** Empty: the only container of the Pod. */
  readonly container: string
  /** Whether the certificate of the node agent is not verified. */
  readonly skipsVerification: boolean
  /** The parameters for the node agent. */
  readonly forAgent: URLSearchParams
}

/**
 * @param name of the Pod
 * @throws ApiError `BadRequest` for values of a wrong type, `Invalid`
 * @source core `pkg/apis/core/validation`, ValidatePodLogOptions; `pkg/registry/core/pod`,
 * LogLocation
 */
export function logOptions(query: Query, name: string): LogOptions {
  const sinceSeconds = integer(query, 'sinceSeconds')
  const tailLines = integer(query, 'tailLines')
  const limitBytes = integer(query, 'limitBytes')
  const sinceTime = time(query, 'sinceTime')
  requireValid({ group: '', kind: 'PodLogOptions' }, name, (found) => {
    if (tailLines !== null && tailLines < 0)
      found.add(invalid('tailLines', shown(tailLines), 'must be greater than or equal to 0'))
    if (limitBytes !== null && limitBytes < 1)
      found.add(invalid('limitBytes', shown(limitBytes), 'must be greater than 0'))
    if (sinceSeconds !== null && sinceTime !== null)
      found.add(fieldForbidden('', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
    else if (sinceSeconds !== null && sinceSeconds < 1)
      found.add(invalid('sinceSeconds', shown(sinceSeconds), 'must be greater than 0'))
  })
  const forAgent = new URLSearchParams()
  for (const option of ['follow', 'previous', 'timestamps'])
    if (isSet(query, option)) forAgent.set(option, 'true')
  for (const [option, value] of Object.entries({ sinceSeconds, sinceTime, tailLines, limitBytes }))
    if (value !== null) forAgent.set(option, String(value))
  return {
    container: firstOf(query, 'container') ?? '',
    skipsVerification: isSet(query, 'insecureSkipTLSVerifyBackend'),
    forAgent,
  }
}

/** @throws ApiError `BadRequest` */
function integer(query: Query, option: string): bigint | null {
  const text = firstOf(query, option)
  if (text === null || text === '') return null
  const value = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text) : null
  if (value === null || BigInt.asIntN(64, value) !== value)
    throw badRequest(`${option}: ${JSON.stringify(text.slice(0, 64))} is not a 64-bit integer`)
  return value
}

/** Returns a time in the form that node agents parse. @throws ApiError `BadRequest` */
function time(query: Query, option: string): string | null {
  const text = firstOf(query, option)
  if (text === null || text === '') return null
  const instant = parseTime(text)
  const formatted = instant === null ? null : formatInstant(instant, 'date-time')
  if (formatted === null)
    throw badRequest(`${option}: ${JSON.stringify(text.slice(0, 64))} is not a time of RFC 3339`)
  return formatted
}

/** Returns the value as it is shown in an error: a bigint where a number would not be exact. */
function shown(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
