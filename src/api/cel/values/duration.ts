import { CelDuration, CelFailure } from './value.ts'

/** 2^63 - 1 nanoseconds, about 292 years, as upstream. */
const NANOS_MAX = 2n ** 63n - 1n
const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

/** Steps of parsing a duration, by the length of the text. */
export function durationSteps(text: string): number {
  return 10 + 3 * Math.min(text.length, 400)
}

/** Parses a duration of Go: `1h30m`, `-1.5s`, `0`. */
export function parseDuration(text: string): CelDuration | CelFailure {
  const failure = new CelFailure(`time: invalid duration "${text.slice(0, 100)}"`)
  const match =
    /^([+-]?)((?:[0-9]{1,20}(?:\.[0-9]{0,20})?(?:ns|us|µs|μs|ms|s|m|h)|\.[0-9]{1,20}(?:ns|us|µs|μs|ms|s|m|h)){1,16}|0)$/.exec(
      text,
    )
  if (match === null) return failure
  let nanos = 0n
  for (const [, whole = '', fraction = '', unit = ''] of (match[2] ?? '').matchAll(
    /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/g,
  )) {
    const digits = BigInt(`0${whole}${fraction}`)
    nanos += (digits * (UNITS[unit] ?? 0n)) / 10n ** BigInt(fraction.length)
  }
  return durationOf(match[1] === '-' ? -nanos : nanos) ?? failure
}

/**
 * Parses a value of format `duration`: one of Go, or whole numbers with units in words, as in
 * `3 days 2 min`.
 *
 * @source go-openapi `strfmt` ParseDuration
 */
export function parseDurationOfFormat(text: string): CelDuration | CelFailure {
  const duration = parseDuration(text)
  if (!(duration instanceof CelFailure) || text.length > WORDS_MAX) return duration
  let nanos = 0n
  let hasUnit = false
  for (const [, count = '', word = ''] of text.matchAll(/([0-9]+)\s*([A-Za-zµ]+)/g)) {
    const unit = WORDS.find(([names]) => names.test(word))
    if (unit === undefined) continue
    hasUnit = true
    nanos += BigInt(count) * unit[1]
  }
  return hasUnit ? (durationOf(nanos) ?? duration) : duration
}

/** Characters of such a duration. Longer: an error. */
const WORDS_MAX = 400
const HOUR = 3_600_000_000_000n
const WORDS: readonly (readonly [names: RegExp, nanos: bigint])[] = [
  [/^(?:ns|nano.*)$/i, 1n],
  [/^(?:us|µs|micro.*)$/i, 1_000n],
  [/^(?:ms|milli.*)$/i, 1_000_000n],
  [/^(?:s|sec.*)$/i, 1_000_000_000n],
  [/^(?:m|min.*)$/i, 60_000_000_000n],
  [/^(?:h|hr|hour.*)$/i, HOUR],
  [/^(?:d|day.*)$/i, 24n * HOUR],
  [/^(?:w|wk|week.*)$/i, 168n * HOUR],
]

/** @returns undefined beyond 64 bits */
export function durationOf(nanos: bigint): CelDuration | undefined {
  return nanos > NANOS_MAX || nanos < -NANOS_MAX - 1n ? undefined : new CelDuration(nanos)
}

/** Returns seconds with as many digits as needed: `1.5s`. */
export function formatDuration({ nanos }: CelDuration): string {
  return `${formatNanos(nanos)}s`
}

/** Returns a number of nanoseconds as seconds: `-1.5`. */
export function formatNanos(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos
  const fraction = (size % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '')
  const sign = nanos < 0n ? '-' : ''
  return `${sign}${size / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}`
}
