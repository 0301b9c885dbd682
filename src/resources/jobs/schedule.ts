/** A field of a schedule, with its bounds, and names of its values from the lowest one on. */
type Bounds = { readonly low: number; readonly high: number; readonly names: readonly string[] }

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const fields: readonly Bounds[] = [
  { low: 0, high: 59, names: [] },
  { low: 0, high: 23, names: [] },
  { low: 1, high: 31, names: [] },
  { low: 1, high: 12, names: MONTHS },
  { low: 0, high: 6, names: DAYS },
]

const DESCRIPTORS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']

/**
 * Checks a schedule: five fields, or a descriptor such as `@daily` or `@every 1h`. A time zone may
 * precede them, such as `TZ=UTC`.
 *
 * @returns null: it is valid; else why not
 * @source the parser of schedules that upstream uses, whose words these are
 */
export function scheduleError(schedule: string): string | null {
  const { zone, text } = partsOf(schedule)
  if (zone !== null && !/^[A-Za-z0-9_+\-/]*$/.test(zone))
    return `provided bad location ${zone}: unknown time zone`
  if (text.startsWith('@')) return descriptorError(text)
  const parts = text.split(/\s+/).filter((part) => part !== '')
  if (parts.length !== fields.length)
    return `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`
  for (const [index, part] of parts.entries()) {
    const wrong = fieldError(part, fields[index] as Bounds)
    if (wrong !== null) return wrong
  }
  return null
}

/**
 * Splits off a time zone, which ends at the first space. One regular expression would backtrack.
 */
function partsOf(schedule: string): { readonly zone: string | null; readonly text: string } {
  const isZoned = ['TZ=', 'CRON_TZ='].some((prefix) => schedule.startsWith(prefix))
  const end = isZoned ? schedule.indexOf(' ') : -1
  if (end < 0) return { zone: null, text: schedule.trim() }
  return { zone: schedule.slice(schedule.indexOf('=') + 1, end), text: schedule.slice(end).trim() }
}

function descriptorError(text: string): string | null {
  if (DESCRIPTORS.includes(text)) return null
  if (!text.startsWith('@every ')) return `unrecognized descriptor: ${text}`
  const duration = text.slice('@every '.length)
  if (
    /^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$/.test(
      duration,
    )
  )
    return null
  return `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`
}

function fieldError(field: string, bounds: Bounds): string | null {
  for (const range of field.split(',')) {
    if (range === '') continue
    const wrong = rangeError(range, bounds)
    if (wrong !== null) return wrong
  }
  return null
}

function rangeError(text: string, bounds: Bounds): string | null {
  const [range = '', step, ...slashes] = text.split('/')
  const [first = '', last, ...hyphens] = range.split('-')
  if (slashes.length > 0) return `too many slashes: ${text}`
  if (hyphens.length > 0) return `too many hyphens: ${text}`
  const isAll = first === '*' || first === '?'
  const start = isAll ? bounds.low : valueOf(first, bounds)
  if (typeof start === 'string') return start
  const given = isAll ? bounds.high : last === undefined ? start : valueOf(last, bounds)
  if (typeof given === 'string') return given
  const end = !isAll && last === undefined && step !== undefined ? bounds.high : given
  const every = step === undefined ? 1 : integerOf(step)
  if (typeof every === 'string') return every
  if (start < bounds.low) return `beginning of range (${start}) below minimum (${bounds.low}): ${text}`
  if (end > bounds.high) return `end of range (${end}) above maximum (${bounds.high}): ${text}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`
  return every === 0 ? `step of range should be a positive number: ${text}` : null
}

function valueOf(text: string, { low, names }: Bounds): number | string {
  const index = names.indexOf(text.toLowerCase())
  return index >= 0 ? low + index : integerOf(text)
}

/** @returns a text: why it is no number */
function integerOf(text: string): number | string {
  if (/^-[0-9]+$/.test(text)) return `negative number (${text}) not allowed: ${text}`
  if (/^\+?[0-9]{1,15}$/.test(text)) return Number(text)
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`
}
