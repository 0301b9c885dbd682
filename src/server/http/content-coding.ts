/** The content codings that the client accepts. */
export type Codings = {
  /** Gzip is accepted, and identity is not preferred. */
  readonly gzip: boolean
  /** Identity is accepted. */
  readonly identity: boolean
}

const PLAIN: Codings = Object.freeze({ gzip: false, identity: true })

/**
 * @param header `Accept-Encoding`. Without it nothing is compressed, as such clients may not expect
 * it.
 * @source RFC 9110 section 12.5.3; an unreadable weight counts as 0
 */
export function codingsOf(header: string | undefined): Codings {
  if (header === undefined || header === '') return PLAIN
  const weights = new Map<string, number>()
  for (const entry of header.split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    weights.set(name === 'x-gzip' ? 'gzip' : name, weightOf(parameters))
  }
  const any = weights.get('*')
  const gzip = weights.get('gzip') ?? any ?? 0
  // Identity is acceptable unless it is excluded; its weight counts only where it is named.
  const identity = weights.get('identity') ?? (any === 0 ? 0 : null)
  return { gzip: gzip > 0 && (identity === null || gzip >= identity), identity: identity !== 0 }
}

function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  if (weight === undefined) return 1
  return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0
}
