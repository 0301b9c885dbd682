const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['\u00b5s', 1e-3],
  ['\u03bcs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
])

/**
 * Parses `30s`, `1m30s`, `500ms`, `0` to milliseconds; null when it is not a duration.
 * @source Go `time.ParseDuration`
 */
export function parseDuration(text: string): number | null {
  if (text.length > 32) return null
  const match = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+|0)$/.exec(text)
  if (match === null) return null
  let sum = 0
  for (const [, number, unit] of (match[2] as string).matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/g)) {
    sum += Number(number) * (UNIT_MS.get(unit as string) ?? 0)
  }
  return match[1] === '-' ? -sum : sum
}
