import { Buffer } from 'node:buffer'
import type { CelValue } from '../values/value.ts'
import { CelUint } from '../values/value.ts'

/**
 * Formats a value with a verb for numbers: `d`, `f`, `e`, `b`, `o`, `x` or `X`. For a text or
 * bytes, `x` and `X` show the bytes.
 *
 * @param precision digits after the point
 * @returns undefined if the verb is not for the value
 */
export function formatNumber(verb: string, precision: number, value: CelValue): string | undefined {
  const whole = wholeOf(value)
  switch (verb) {
    case 'd':
      if (whole !== undefined) return whole.toString()
      return typeof value === 'number' ? String(value) : undefined
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : whole?.toString(2)
    case 'o':
      return whole?.toString(8)
    case 'x':
      return hexText(value, whole)
    case 'X':
      return hexText(value, whole)?.toUpperCase()
    default: {
      const number = typeof value === 'number' ? value : whole === undefined ? undefined : Number(whole)
      if (number === undefined || !Number.isFinite(number)) return number?.toString()
      return verb === 'f' ? fixedText(number, precision) : scientificText(number, precision)
    }
  }
}

function wholeOf(value: CelValue): bigint | undefined {
  if (typeof value === 'bigint') return value
  return value instanceof CelUint ? value.value : undefined
}

function hexText(value: CelValue, whole: bigint | undefined): string | undefined {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return whole?.toString(16)
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.from(value)
  return bytes.toString('hex')
}

function scientificText(value: number, precision: number): string {
  return value.toExponential(precision).replace(/e([+-])([0-9])$/, 'e$10$2')
}

/** Rounds the exact value of the double, halves to even, as Go does; `toFixed` rounds them up. */
function fixedText(value: number, precision: number): string {
  const exact = exactDecimal(Math.abs(value))
  const [whole = '0', fraction = ''] = exact.split('.')
  const kept = BigInt(whole + fraction.slice(0, precision).padEnd(precision, '0'))
  const rest = fraction.slice(precision)
  const half = `5${'0'.repeat(Math.max(0, rest.length - 1))}`
  const isUp = rest > half || (rest === half && kept % 2n === 1n)
  const digits = (isUp ? kept + 1n : kept).toString().padStart(precision + 1, '0')
  const at = digits.length - precision
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  return `${sign}${digits.slice(0, at)}${precision === 0 ? '' : `.${digits.slice(at)}`}`
}

/** Returns every digit of a double, which is a whole number divided by a power of two. */
function exactDecimal(value: number): string {
  let whole = value
  let halvings = 0
  while (!Number.isInteger(whole)) {
    whole *= 2
    halvings++
  }
  const digits = (BigInt(whole) * 5n ** BigInt(halvings)).toString().padStart(halvings + 1, '0')
  return `${digits.slice(0, digits.length - halvings)}.${digits.slice(digits.length - halvings)}`
}
