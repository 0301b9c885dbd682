/** One range of an `Accept` header. */
export type MediaRange = {
  /** Lower case, such as `application/json` or an asterisk for either half. */
  readonly type: string
  /** Lower-case names; the quality left out. */
  readonly parameters: ReadonlyMap<string, string>
  /** 0 to 1 */
  readonly quality: number
}

/**
 * Whether plain JSON may be sent. Ranges that ask for another shape of it (`as=Table`) do not count, but
 * clients name a fallback beside them. @param header absent or empty: anything goes
 */
export function acceptsJson(header: string | undefined): boolean {
  if (header === undefined || header === '' || PLAIN.has(header)) return true
  return parseAccept(header).some(
    ({ type, parameters, quality }) => quality > 0 && JSON_RANGES.has(type) && !parameters.has('as'),
  )
}

/** What most requests say, spared the parsing. */
const PLAIN: ReadonlySet<string> = new Set(['*/*', 'application/json', 'application/json, */*'])

/** Ranges of an `Accept` header in order; what is no media range is left out. @source RFC 9110 section 12.5.1 */
export function parseAccept(header: string): readonly MediaRange[] {
  const ranges: MediaRange[] = []
  for (const item of header.split(',').slice(0, RANGES_MAX)) {
    const [head, ...rest] = item.split(';')
    const type = (head ?? '').trim().toLowerCase()
    if (!/^[^\s/]+\/[^\s/]+$/.test(type)) continue
    const parameters = new Map<string, string>()
    let quality = 1
    for (const text of rest) {
      const equals = text.indexOf('=')
      if (equals === -1) continue
      const name = text.slice(0, equals).trim().toLowerCase()
      const value = text
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1')
      if (name === 'q') quality = Number.isFinite(Number(value)) ? Number(value) : 0
      else parameters.set(name, value)
    }
    ranges.push({ type, parameters, quality })
  }
  return ranges
}

const JSON_RANGES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*'])
const RANGES_MAX = 32
