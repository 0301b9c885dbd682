import { formatInstant, parseTime } from '../../metadata/time.ts'
import { CelFailure, CelTimestamp } from './value.ts'

const NANO = 1_000_000_000n
/** 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z */
const NANOS_MIN = -62_135_596_800n * NANO
const NANOS_MAX = 253_402_300_800n * NANO - 1n

/** Parses an RFC 3339 time, or a date alone as JSON values of format `date` have it. */
export function parseTimestamp(text: string): CelTimestamp | CelFailure {
  const isDate = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)
  const instant = parseTime(isDate ? `${text}T00:00:00Z` : text)
  const time =
    instant === null ? undefined : timestampOf(BigInt(instant.seconds) * NANO + BigInt(instant.nanos))
  return time ?? new CelFailure(`invalid timestamp "${text.slice(0, 100)}"`)
}

/** @returns undefined outside of the years 1 to 9999 */
export function timestampOf(nanos: bigint): CelTimestamp | undefined {
  return nanos < NANOS_MIN || nanos > NANOS_MAX ? undefined : new CelTimestamp(nanos)
}

/** Returns an RFC 3339 time in UTC, with as many digits as needed. */
export function formatTimestamp({ nanos }: CelTimestamp): string {
  const { seconds, fraction } = splitNanos(nanos)
  const text = formatInstant({ seconds, nanos: 0 }, 'date-time') ?? ''
  const digits = fraction.toString().padStart(9, '0').replace(/0+$/, '')
  return digits === '' ? text : text.replace('Z', `.${digits}Z`)
}

/** Returns whole seconds since 1970, and the nanoseconds after them. */
export function splitNanos(nanos: bigint): { seconds: number; fraction: number } {
  const fraction = ((nanos % NANO) + NANO) % NANO
  return { seconds: Number((nanos - fraction) / NANO), fraction: Number(fraction) }
}
