import { ConfigError } from './errors.ts'

/** A flag: its help text, its default, and its parser. */
export type Flag<T> = {
  /** Placeholder of the value in help: `PATH`, `duration`, `host:port`, … Empty for a switch. */
  readonly placeholder: string
  /** The help text, with the unit where there is one. */
  readonly help: string
  /** The default value. */
  readonly fallback: T
  /** @param values one per occurrence of the flag, in order @throws Error with the expected form */
  readonly parse: (values: readonly string[]) => T
  /** `--flag` alone means true. */
  readonly isSwitch: boolean
}

/** Returns the value of a flag with a single value. */
function single(values: readonly string[]): string {
  // The last occurrence wins, as upstream.
  return values[values.length - 1] ?? ''
}

export function text(fallback: string, placeholder: string, help: string): Flag<string> {
  return { placeholder, help, fallback, parse: single, isSwitch: false }
}

export function choice<T extends string>(choices: readonly T[], fallback: T, help: string): Flag<T> {
  return {
    placeholder: choices.join('|'),
    help,
    fallback,
    isSwitch: false,
    parse: (values) => {
      const found = choices.find((one) => one === single(values))
      if (found === undefined) throw new ConfigError(`must be one of ${choices.join(', ')}`)
      return found
    },
  }
}

export function toggle(fallback: boolean, help: string): Flag<boolean> {
  return {
    placeholder: '',
    help,
    fallback,
    isSwitch: true,
    parse: (values) => {
      switch (single(values).toLowerCase()) {
        case 'true':
        case '1':
        case 't':
          return true
        case 'false':
        case '0':
        case 'f':
          return false
        default:
          throw new ConfigError('must be true or false')
      }
    },
  }
}

export function wholeNumber(
  fallback: number,
  range: { readonly min: number; readonly max: number },
  help: string,
): Flag<number> {
  return {
    placeholder: 'number',
    help,
    fallback,
    isSwitch: false,
    parse: (values) => {
      const given = single(values)
      const value = Number(given)
      if (!/^-?\d+$/.test(given) || value < range.min || value > range.max) {
        throw new ConfigError(`must be a whole number from ${range.min} to ${range.max}`)
      }
      return value
    },
  }
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** `1m30s`, `500ms`, `0`; in milliseconds. */
export function duration(
  fallbackMs: number,
  range: { readonly minMs: number; readonly maxMs: number },
  help: string,
): Flag<number> {
  return {
    placeholder: 'duration',
    help,
    fallback: fallbackMs,
    isSwitch: false,
    parse: (values) => {
      const valueMs = durationMs(single(values))
      if (valueMs === null || valueMs < range.minMs || valueMs > range.maxMs) {
        throw new ConfigError(
          `must be a duration such as 500ms or 1m30s, from ${durationText(range.minMs)} to ${durationText(range.maxMs)}`,
        )
      }
      return valueMs
    },
  }
}

/** @returns null when the text is not a duration */
export function durationMs(given: string): number | null {
  if (given === '0') return 0
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(given)) return null
  let sum = 0
  for (const [, amount, , unit] of given.matchAll(/(\d+(\.\d+)?)(ms|s|m|h)/g)) {
    sum += Number(amount) * (unitMs[unit as string] ?? 0)
  }
  return sum
}

export function durationText(ms: number): string {
  if (ms === 0) return '0s'
  for (const unit of ['h', 'm', 's'] as const) {
    const size = unitMs[unit] ?? 1
    if (ms % size === 0) return `${ms / size}${unit}`
  }
  return `${ms}ms`
}

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
}

/** `8Gi`, `500Mi`, or a number of bytes. */
export function size(
  fallback: number,
  range: { readonly min: number; readonly max: number },
  help: string,
): Flag<number> {
  return {
    placeholder: 'size',
    help,
    fallback,
    isSwitch: false,
    parse: (values) => {
      const bytes = sizeBytes(single(values))
      if (bytes === null || bytes < range.min || bytes > range.max) {
        throw new ConfigError(
          `must be a size such as 8Gi or 500Mi, from ${sizeText(range.min)} to ${sizeText(range.max)}`,
        )
      }
      return bytes
    },
  }
}

/** @returns null when the text is not a size */
export function sizeBytes(given: string): number | null {
  const [, amount, unit] = /^(\d{1,15}(?:\.\d{1,3})?)(Ki|Mi|Gi|Ti|)B?$/.exec(given) ?? []
  if (amount === undefined || unit === undefined) return null
  const bytes = Number(amount) * (unitBytes[unit] ?? 1)
  return Number.isSafeInteger(bytes) ? bytes : null
}

/** Uses the largest exact unit. */
export function sizeText(bytes: number): string {
  for (const unit of ['Ti', 'Gi', 'Mi', 'Ki'] as const) {
    const one = unitBytes[unit] ?? 1
    if (bytes >= one && bytes % one === 0) return `${bytes / one}${unit}`
  }
  return String(bytes)
}

/** May be repeated, or separated by commas, or both. */
export function list(
  fallback: readonly string[],
  placeholder: string,
  help: string,
): Flag<readonly string[]> {
  return {
    placeholder,
    help,
    fallback,
    isSwitch: false,
    parse: (values) => values.flatMap((value) => value.split(',')).filter((value) => value !== ''),
  }
}

/** @param parse converts all values */
export function custom<T>(flag: {
  readonly fallback: T
  readonly placeholder: string
  readonly help: string
  readonly parse: (values: readonly string[]) => T
}): Flag<T> {
  return { ...flag, isSwitch: false }
}
