/**
 * Amounts of resources: `500m`, `1.5Gi`, `12e3`. Kept as integers in units of 10^-9, the precision
 * of upstream. Fractions of a unit are rounded away from zero.
 *
 * @source apimachinery `pkg/api/resource/quantity.go`
 */
export type Quantity = {
  /** In units of 10^-9. */
  readonly nanos: bigint
  readonly format: 'decimal' | 'binary' | 'exponent'
}

export const QUANTITY_WORDS =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/** Limits on the characters of a quantity and on its exponent. */
const LENGTH_MAX = 64
const EXPONENT_MAX = 40
const NANO = 10n ** 9n
/** 2^63 - 1 units, the maximum of upstream. */
const NANOS_MAX = (2n ** 63n - 1n) * NANO

const NUMBER = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[KMGTPE]i)|(?:[numkMGTPE])|(?:[eE][+-]?[0-9]{1,3}))?$/

/** @returns null if the text is not a quantity */
export function parseQuantity(text: string): Quantity | null {
  if (text.length > LENGTH_MAX) return null
  const match = NUMBER.exec(text)
  if (match === null) return null
  const whole = match[2] ?? ''
  const fraction = match[3] ?? ''
  if (whole === '' && fraction === '') return null
  const suffix = match[4] ?? ''
  const scale = scaleOf(suffix)
  if (scale === null) return null
  // value = digits * 10^-fractionLength * multiplier / divisor
  const digits = BigInt(`${whole}${fraction}` === '' ? '0' : `${whole}${fraction}`)
  const numerator = digits * scale.multiplier * NANO
  const divisor = scale.divisor * 10n ** BigInt(fraction.length)
  const rounded = (numerator + divisor - 1n) / divisor
  const capped = rounded > NANOS_MAX ? NANOS_MAX : rounded
  return { nanos: match[1] === '-' ? -capped : capped, format: scale.format }
}

/**
 * Returns the canonical form of a quantity: `1000m` is `1`, `1024Mi` is `1Gi`.
 *
 * @returns null if it is not a quantity
 */
export function canonicalQuantity(text: string): string | null {
  const quantity = parseQuantity(text)
  return quantity === null ? null : formatQuantity(quantity)
}

export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0'
  if (format === 'binary') return formatBinary(nanos) ?? formatDecimal(nanos, DECIMAL_SUFFIXES)
  return formatDecimal(nanos, format === 'exponent' ? EXPONENT_SUFFIXES : DECIMAL_SUFFIXES)
}

/** Returns a negative number, zero or a positive number for `a` below, equal to or above `b`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0
}

type Scale = { multiplier: bigint; divisor: bigint; format: Quantity['format'] }

/** By power of 1000, from 10^-9. */
const DECIMAL_SUFFIXES = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const EXPONENT_SUFFIXES = ['e-9', 'e-6', 'e-3', '', 'e3', 'e6', 'e9', 'e12', 'e15', 'e18']
/** By power of 1024. */
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function scaleOf(suffix: string): Scale | null {
  const binary = BINARY_SUFFIXES.indexOf(suffix)
  if (binary > 0) return { multiplier: 1024n ** BigInt(binary), divisor: 1n, format: 'binary' }
  const decimal = DECIMAL_SUFFIXES.indexOf(suffix)
  if (decimal >= 0) return powerOfTen((decimal - 3) * 3, 'decimal')
  const exponent = Number(suffix.slice(1))
  if (!Number.isInteger(exponent) || Math.abs(exponent) > EXPONENT_MAX) return null
  return powerOfTen(exponent, 'exponent')
}

function powerOfTen(exponent: number, format: Quantity['format']): Scale {
  const power = 10n ** BigInt(Math.abs(exponent))
  return exponent < 0
    ? { multiplier: 1n, divisor: power, format }
    : { multiplier: power, divisor: 1n, format }
}

function formatDecimal(nanos: bigint, suffixes: readonly string[]): string {
  let value = nanos
  let at = 0
  while (at < suffixes.length - 1 && value % 1000n === 0n) {
    value /= 1000n
    at++
  }
  return `${value}${suffixes[at] ?? ''}`
}

/** @returns null below 1024 or with a fraction: those use the decimal form */
function formatBinary(nanos: bigint): string | null {
  if (nanos % NANO !== 0n) return null
  let value = nanos / NANO
  if (value > -1024n && value < 1024n) return null
  let at = 0
  while (at < BINARY_SUFFIXES.length - 1 && value % 1024n === 0n) {
    value /= 1024n
    at++
  }
  return `${value}${BINARY_SUFFIXES[at] ?? ''}`
}
