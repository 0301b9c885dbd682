import type { Evaluation } from '../evaluate/evaluation.ts'
import { splitNanos } from './timestamp.ts'
import { CelFailure } from './value.ts'

/** A moment as the clocks of a time zone show it. */
export type LocalTime = {
  readonly year: number
  /** 1 to 12 */
  readonly month: number
  /** 1 to 31 */
  readonly day: number
  /** From 0. */
  readonly dayOfYear: number
  /** From 0, Sunday. */
  readonly dayOfWeek: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
  readonly nanos: number
}

/**
 * Returns the local time of a moment.
 *
 * @param nanos since 1970 UTC
 * @param zone `UTC`, a fixed offset such as `+02:00`, or a name of the time zone database, whose
 *   rules come with Node, never from the host: they may differ between members with different
 *   releases of Node
 */
export function localTime(nanos: bigint, zone: string, evaluation: Evaluation): LocalTime | CelFailure {
  evaluation.step(5)
  const { seconds, fraction } = splitNanos(nanos)
  const offset = offsetSeconds(seconds, zone, evaluation)
  if (offset === undefined) return new CelFailure(`unknown time zone ${zone.slice(0, 64)}`)
  return civilTime(seconds + offset, fraction)
}

function offsetSeconds(seconds: number, zone: string, evaluation: Evaluation): number | undefined {
  if (zone === 'UTC' || zone === '') return 0
  const fixed = /^([+-]?)([0-9]{1,2}):([0-9]{2})$/.exec(zone)
  if (fixed !== null) {
    const offset = Number(fixed[2]) * 3600 + Number(fixed[3]) * 60
    return fixed[1] === '-' ? -offset : offset
  }
  evaluation.step(ZONE_STEPS)
  const format = zoneFormat(zone, evaluation)
  if (format === undefined) return undefined
  const parts = new Map(format.formatToParts(seconds * 1000).map(({ type, value }) => [type, value]))
  const part = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name) ?? 0)
  const year = parts.get('era') === 'B' ? 1 - part('year') : part('year')
  const days = daysFromCivil(year, part('month'), part('day'))
  const local = days * DAY + part('hour') * 3600 + part('minute') * 60 + part('second')
  return local - seconds
}

const formats = new Map<string, Intl.DateTimeFormat>()
/** Formats that are kept. More: the oldest is dropped. */
const FORMATS_MAX = 32
/** Steps of reading a local time by name, and of loading the rules of a zone. */
const ZONE_STEPS = 250
const ZONE_LOAD_STEPS = 10_000

function zoneFormat(zone: string, evaluation: Evaluation): Intl.DateTimeFormat | undefined {
  const known = formats.get(zone)
  if (known !== undefined) return known
  evaluation.step(ZONE_LOAD_STEPS)
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(zone)) return undefined
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      hourCycle: 'h23',
      era: 'narrow',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    const [oldest] = formats.keys()
    if (formats.size >= FORMATS_MAX && oldest !== undefined) formats.delete(oldest)
    formats.set(zone, format)
    return format
  } catch {
    return undefined
  }
}

const DAY = 86_400

function civilTime(seconds: number, nanos: number): LocalTime {
  const days = Math.floor(seconds / DAY)
  const time = seconds - days * DAY
  const { year, month, day } = civilFromDays(days)
  return {
    year,
    month,
    day,
    dayOfYear: days - daysFromCivil(year, 1, 1),
    // 1970-01-01 was a Thursday.
    dayOfWeek: (((days + 4) % 7) + 7) % 7,
    hours: Math.floor(time / 3600),
    minutes: Math.floor((time % 3600) / 60),
    seconds: time % 60,
    nanos,
  }
}

/**
 * Returns days since 1970, in the Gregorian calendar.
 *
 * @source Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"
 */
function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const z = days + 719_468
  const era = Math.floor(z / 146_097)
  const dayOfEra = z - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shifted = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shifted < 10 ? shifted + 3 : shifted - 9
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}
