import { byTime, copyEvidence } from '../describe.ts'
import { equalVersions } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { CheckReport } from '../finding.ts'
import type { Copy, History } from '../history.ts'

/**
 * Equal members: at the end, all members return the same objects at the same revision, byte for
 * byte.
 */
export function checkMembers({ copies, facts }: History): CheckReport {
  const check = 'members are equal in the end'
  const findings = new Findings()
  if (facts.members.length < 2) {
    const examined = 'one endpoint, nothing to compare'
    return { ...findings.report(check, { examined, count: 0 }), verdict: 'not-applicable' }
  }
  const [first, ...others] = copies
  for (const copy of others) {
    if (first === undefined || first.digest === copy.digest) continue
    findings.add(copy.member, () => ({
      kind: 'members-differ',
      text: differenceOf(first, copy),
      object: null,
      atMs: copy.atMs,
      members: [first.member, copy.member],
      witnesses: byTime([copyEvidence(first), copyEvidence(copy)]),
    }))
  }
  const missing = facts.members.filter((name) => !copies.some(({ member }) => member === name))
  return findings.report(check, {
    examined: count(copies.length, 'member'),
    count: copies.length,
    note: missing.length === 0 ? '' : `${missing.join(', ')} returned no list of the last revision`,
  })
}

function differenceOf(one: Copy, other: Copy): string {
  const words = `${one.member} and ${other.member} differ at revision ${one.revision}`
  const there = new Map(other.versions.map((version) => [version.name, version]))
  for (const version of one.versions) {
    const found = there.get(version.name)
    if (found === undefined) return `${words}: only ${one.member} has ${version.name}`
    if (!equalVersions(version, found)) return `${words} in ${version.name}`
    there.delete(version.name)
  }
  for (const name of there.keys()) return `${words}: only ${other.member} has ${name}`
  return `${words} in bytes alone`
}
