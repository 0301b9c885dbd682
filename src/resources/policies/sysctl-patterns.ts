import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid } from '../../api/errors/field-error.ts'

/** @source upstream `pkg/apis/policy/validation`, SysctlContainSlashPatternFmt */
const SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const PATTERN = `(${SEGMENT}[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]`
const LENGTH_MAX = 253

const segment = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/
const lastSegment = /^(?:[a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/

function isPattern(text: string): boolean {
  if (text.length > LENGTH_MAX) return false
  const segments = text.split(/[./]/)
  const last = segments.pop() ?? ''
  return lastSegment.test(last) && segments.every((one) => segment.test(one))
}

/** Checks a list of names of kernel parameters, each of which may end with `*`. */
export function checkSysctlPatterns(patterns: readonly string[], field: string, found: Findings): void {
  const words = `must have at most ${LENGTH_MAX} characters and match regex ${PATTERN}`
  for (const [index, pattern] of patterns.entries()) {
    const place = `${field}[${index}]`
    if (pattern === '') found.add(invalid(place, pattern, 'empty sysctl not allowed'))
    else if (!isPattern(pattern)) found.add(invalid(place, pattern, words))
  }
  if (patterns.length > 1 && patterns.some((pattern) => pattern.startsWith('*')))
    found.add(fieldForbidden(`${field}.items`, "if '*' is present, must not specify other sysctls"))
}

type Entry = {
  readonly text: string
  /** The text without the `*`. */
  readonly prefix: string
  readonly isWildcard: boolean
  readonly isForbidden: boolean
  readonly field: string
}

/**
 * Reports each entry of one list that an entry of the other list includes. If two entries are
 * equal, the allowed one is reported. In sorted order, the entries that a wildcard includes follow
 * it, so the time grows as that of sorting.
 */
export function checkSysctlOverlaps(
  { allowed, forbidden }: { readonly allowed: readonly string[]; readonly forbidden: readonly string[] },
  fields: { readonly allowed: string; readonly forbidden: string },
  found: Findings,
): void {
  const entries = [
    ...entriesOf(forbidden, fields.forbidden, true),
    ...entriesOf(allowed, fields.allowed, false),
  ].sort(byPrefix)
  /** The wildcards of each list that include the current entry, the widest one first. */
  const including: { readonly [list in 'allowed' | 'forbidden']: Entry[] } = { allowed: [], forbidden: [] }
  let lastForbidden: string | null = null
  for (const entry of entries) {
    for (const list of [including.allowed, including.forbidden])
      while (list.length > 0 && !entry.prefix.startsWith(list.at(-1)?.prefix ?? '')) list.pop()
    const [wildcard] = entry.isForbidden ? including.allowed : including.forbidden
    const isSame = !entry.isForbidden && lastForbidden === entry.text
    const other = wildcard?.text ?? (isSame ? entry.text : null)
    if (other !== null) found.add(invalid(entry.field, entry.text, `sysctl overlaps with ${other}`))
    if (entry.isWildcard) (entry.isForbidden ? including.forbidden : including.allowed).push(entry)
    else if (entry.isForbidden) lastForbidden = entry.text
  }
}

function entriesOf(texts: readonly string[], field: string, isForbidden: boolean): Entry[] {
  return texts.map((text, index) => {
    const isWildcard = text.endsWith('*')
    const prefix = isWildcard ? text.slice(0, -1) : text
    return { text, prefix, isWildcard, isForbidden, field: `${field}[${index}]` }
  })
}

/** Wildcards come before what they include, and forbidden entries before equal allowed ones. */
function byPrefix(a: Entry, b: Entry): number {
  if (a.prefix !== b.prefix) return a.prefix < b.prefix ? -1 : 1
  if (a.isWildcard !== b.isWildcard) return a.isWildcard ? -1 : 1
  return Number(b.isForbidden) - Number(a.isForbidden)
}
