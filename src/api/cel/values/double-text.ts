/** Doubles as Go writes and reads them. */

/**
 * Returns the shortest text that reads as the same number, as Go's `%g`: below 1e-4 and from 1e6
 * on, it has an exponent such as `1e+06`.
 */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) {
    return value.toExponential().replace(/e([+-])([0-9])$/, 'e$10$2')
  }
  return String(value)
}

const DIGITS = '[0-9](?:_?[0-9])*'
const HEX_DIGITS = '[0-9a-f](?:_?[0-9a-f])*'
const DECIMAL = new RegExp(`^[+-]?(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:e[+-]?${DIGITS})?$`, 'i')
const HEXADECIMAL = new RegExp(
  `^([+-]?)0x(?:(_?${HEX_DIGITS})(?:\\.(${HEX_DIGITS})?)?|\\.(${HEX_DIGITS}))p([+-]?${DIGITS})$`,
  'i',
)

/**
 * Reads a number as Go's `strconv.ParseFloat`.
 *
 * @returns undefined if the text is no number, or one beyond the largest double
 */
export function parseDouble(text: string): number | undefined {
  if (DECIMAL.test(text)) return finite(Number(text.replaceAll('_', '')))
  const word = /^([+-]?)(?:inf|infinity)$/i.exec(text)
  if (word !== null) return word[1] === '-' ? -Infinity : Infinity
  if (/^nan$/i.test(text)) return NaN
  const match = HEXADECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign, whole, fraction, only, exponent] = match.map((part) => part?.replaceAll('_', ''))
  const size = finite(hexadecimal(whole ?? '', fraction ?? only ?? '', Number(exponent)))
  return size !== undefined && sign === '-' ? -size : size
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined
}

/**
 * Hexadecimal digits that decide the rounding: more than 53 bits. Of the other digits it only
 * matters whether all are 0.
 */
const HEX_DIGITS_USED = 17
const EXPONENT_MIN = -1074
const NORMAL_EXPONENT_MIN = -1022

/** Returns `whole.fraction` times 2 to the power of `exponent`, rounded once, to even. */
function hexadecimal(whole: string, fraction: string, exponent: number): number {
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return 0
  const used = digits.slice(0, HEX_DIGITS_USED)
  const isMore = /[^0]/.test(digits.slice(HEX_DIGITS_USED))
  const mantissa = BigInt(`0x${used}`) | (isMore ? 1n : 0n)
  const unit = exponent - 4 * fraction.length + 4 * (digits.length - used.length)
  const bits = mantissa.toString(2).length
  if (bits + unit > 1025) return Infinity
  if (bits + unit < EXPONENT_MIN) return 0
  if (bits + unit > NORMAL_EXPONENT_MIN) return scaled(Number(mantissa), unit)
  // A subnormal number has fewer bits. Round to them here, so that `Number` does not round again.
  return scaled(Number(rounded(mantissa, EXPONENT_MIN - unit)), Math.max(unit, EXPONENT_MIN))
}

/** Drops the lowest `bits` bits and rounds, halves to even. */
function rounded(value: bigint, bits: number): bigint {
  if (bits <= 0) return value
  const kept = value >> BigInt(bits)
  const rest = value - (kept << BigInt(bits))
  const half = 1n << BigInt(bits - 1)
  return rest > half || (rest === half && (kept & 1n) === 1n) ? kept + 1n : kept
}

/**
 * Multiplies by a power of 2, in two steps, because the power may be too small or too large for a
 * double by itself.
 */
function scaled(value: number, exponent: number): number {
  const half = Math.trunc(exponent / 2)
  return value * 2 ** half * 2 ** (exponent - half)
}
