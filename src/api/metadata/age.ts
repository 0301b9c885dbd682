const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/**
 * Formats a duration for a table column, as command line tools do: in one or two units, depending
 * on the duration.
 *
 * @param ms may be negative: clocks differ
 */
export function ageText(ms: number): string {
  const seconds = Math.trunc(ms / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 2 * MINUTE) return `${Math.max(0, seconds)}s`
  if (seconds < 10 * MINUTE) return two(seconds, MINUTE, 'm', 1, 's')
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`
  if (seconds < 8 * HOUR) return two(seconds, HOUR, 'h', MINUTE, 'm')
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`
  if (seconds < 8 * DAY) return two(seconds, DAY, 'd', HOUR, 'h')
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`
  if (seconds < 8 * YEAR) return two(seconds, YEAR, 'y', DAY, 'd')
  return `${Math.floor(seconds / YEAR)}y`
}

/** Formats two units. The second one is left out if it is zero. */
function two(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % large) / small)
  const first = `${Math.floor(seconds / large)}${largeName}`
  return rest === 0 ? first : `${first}${rest}${smallName}`
}
