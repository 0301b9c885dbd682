import * as baseline from './baseline.ts'
import type { Check, CheckedPod, Violation } from './check.ts'
import type { Policy } from './policy.ts'
import * as restricted from './restricted.ts'

/** A check that applies to the minor releases of version 1 from `from` on and before `until`. */
type VersionedCheck = { readonly check: Check; readonly from: number; readonly until?: number }

const always = (check: Check): VersionedCheck => ({ check, from: 0 })

/** In the order of the identifiers of upstream, in which messages have them. */
const BASELINE: readonly VersionedCheck[] = [
  always(baseline.appArmorProfile),
  always(baseline.capabilities),
  always(baseline.hostNamespaces),
  always(baseline.hostPathVolumes),
  always(baseline.hostPorts),
  always(baseline.privileged),
  always(baseline.procMount),
  always(baseline.seLinuxOptions),
  { check: baseline.seccompAnnotations, from: 0, until: 19 },
  { check: baseline.badSeccomp, from: 19 },
  always(baseline.sysctls),
  always(baseline.windowsHostProcess),
]

const RESTRICTED: readonly VersionedCheck[] = [
  { check: restricted.allowPrivilegeEscalation, from: 8 },
  { check: restricted.dropsCapabilities, from: 22 },
  always(restricted.restrictedVolumes),
  always(restricted.runAsNonRoot),
  { check: restricted.runAsUser, from: 23 },
  { check: restricted.hasSeccompProfile, from: 19 },
]

/** Checks of level baseline that those of level restricted include. */
const OVERRIDES: ReadonlyMap<Check, Check> = new Map([
  [baseline.capabilities, restricted.dropsCapabilities],
  [baseline.hostPathVolumes, restricted.restrictedVolumes],
  [baseline.badSeccomp, restricted.hasSeccompProfile],
])

function checksOf({ level, minor }: Policy): readonly Check[] {
  const isIn = ({ from, until = Infinity }: VersionedCheck): boolean =>
    (minor ?? Infinity) >= from && (minor === null ? until === Infinity : minor < until)
  const of = (checks: readonly VersionedCheck[]): readonly Check[] =>
    checks.filter(isIn).map(({ check }) => check)
  switch (level) {
    case 'privileged':
      return []
    case 'baseline':
      return of(BASELINE)
    case 'restricted': {
      const more = of(RESTRICTED)
      const isOverridden = (check: Check): boolean => {
        const by = OVERRIDES.get(check)
        return by !== undefined && more.includes(by)
      }
      return [...of(BASELINE).filter((check) => !isOverridden(check)), ...more]
    }
  }
}

export function violationsOf(policy: Policy, pod: CheckedPod): readonly Violation[] {
  return checksOf(policy).flatMap((check) => check(pod) ?? [])
}

/** Returns `privileged (container "c" must not …), hostPort (…)`. */
export function spellViolations(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')
}
