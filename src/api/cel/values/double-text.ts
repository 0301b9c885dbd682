/** Doubles as Go writes and reads them. */

/** Returns the shortest text that reads as the same number: `1e+20` beyond 20 digits. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-4 || size >= 1e21)) {
    return value.toExponential().replace(/e([+-])([0-9])$/, 'e$10$2')
  }
  return String(value)
}

/** @returns undefined if the text is no number */
export function parseDouble(text: string): number | undefined {
  if (/^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?$/.test(text)) return Number(text)
  const word = /^([+-]?)(?:inf|infinity)$/i.exec(text)
  if (word !== null) return word[1] === '-' ? -Infinity : Infinity
  return /^nan$/i.test(text) ? NaN : undefined
}
