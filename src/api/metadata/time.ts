/**
 * RFC 3339 times of API objects, by arithmetic alone: this module may not use the clock, nor
 * `Date`, whose parser accepts far more than the format allows.
 *
 * @source RFC 3339; days from civil: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"
 */

const DAY_SECONDS = 24 * 60 * 60
/** 9999-12-31T23:59:59Z, the last time with a four-digit year. */
const SECONDS_MAX = 253_402_300_799
/** 0001-01-01T00:00:00Z */
const SECONDS_MIN = -62_135_596_800

/** A time with the precision that `Date` lacks. */
export type Instant = {
  /** Since 1970 UTC; may be negative. */
  readonly seconds: number
  /** 0 to 999,999,999 */
  readonly nanos: number
}

/**
 * Formats a time in whole seconds, UTC: `2026-01-02T03:04:05Z`.
 *
 * @param wallMs milliseconds since 1970, year 1 to 9999
 */
export function formatTime(wallMs: number): string {
  return `${formatSeconds(Math.floor(wallMs / 1000))}Z`
}

/**
 * Formats a UTC time with microseconds, as leases and events have it.
 *
 * @param wallMs milliseconds since 1970
 */
export function formatMicroTime(wallMs: number): string {
  const seconds = Math.floor(wallMs / 1000)
  const micros = Math.floor((wallMs - seconds * 1000) * 1000)
  return `${formatSeconds(seconds)}.${digits(micros, 6)}Z`
}

/**
 * Formats a time for one of the two formats of a schema.
 *
 * @returns null outside of the years 1 to 9999
 */
export function formatInstant(instant: Instant, format: 'date-time' | 'micro-time'): string | null {
  const { seconds, nanos } = instant
  if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || nanos < 0 || nanos > 999_999_999) return null
  if (format === 'date-time') return `${formatSeconds(seconds)}Z`
  return `${formatSeconds(seconds)}.${digits(Math.floor(nanos / 1000), 6)}Z`
}

/** @returns null if the text is not an RFC 3339 time */
export function parseTime(text: string): Instant | null {
  if (text.length > 64) return null
  const match = TIME.exec(text)
  if (match === null) return null
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as DateTimeFields
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null
  if (hour > 23 || minute > 59 || second > 59) return null
  const offsetSeconds = offsetOf(match[8] ?? 'Z')
  if (offsetSeconds === null) return null
  const days = daysFromCivil(year, month, day)
  const seconds = days * DAY_SECONDS + hour * 3600 + minute * 60 + second - offsetSeconds
  if (seconds < SECONDS_MIN || seconds > SECONDS_MAX) return null
  return { seconds, nanos: Number((match[7] ?? '').slice(1, 10).padEnd(9, '0')) }
}

/**
 * Returns milliseconds since 1970, rounded down.
 *
 * @returns null if the text is not an RFC 3339 time
 */
export function parseTimeMs(text: string): number | null {
  const instant = parseTime(text)
  return instant === null ? null : instant.seconds * 1000 + Math.floor(instant.nanos / 1_000_000)
}

/** Returns the canonical form of a time: whole seconds, UTC. @returns null if it is not a time */
export function canonicalTime(text: string): string | null {
  const instant = parseTime(text)
  return instant === null ? null : formatInstant(instant, 'date-time')
}

/**
 * Returns the canonical form of a time with six decimals, UTC. @returns null if it is not a time
 */
export function canonicalMicroTime(text: string): string | null {
  const instant = parseTime(text)
  return instant === null ? null : formatInstant(instant, 'micro-time')
}

type DateTimeFields = [number, number, number, number, number, number]

const TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(\.\d{1,30})?(Z|[+-]\d{2}:\d{2})$/

function offsetOf(zone: string): number | null {
  if (zone === 'Z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(4, 6))
  if (hours > 23 || minutes > 59) return null
  return (zone.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60)
}

function formatSeconds(seconds: number): string {
  const days = Math.floor(seconds / DAY_SECONDS)
  const rest = seconds - days * DAY_SECONDS
  const { year, month, day } = civilFromDays(days)
  const date = `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`
  const clock = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60]
  return `${date}T${clock.map((part) => digits(part, 2)).join(':')}`
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
}

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/**
 * Years begin in March here, so that a leap day is the last day of its year. An era is 400 years.
 */
function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}
