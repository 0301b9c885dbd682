import type { Findings } from '../../api/errors/findings.ts'
import { duplicate } from '../../api/errors/field-error.ts'
import { objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkLabelValue, checkQualifiedName } from '../../api/metadata/name-rules.ts'
import { struct, text, time } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

export const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

/** A taint repels pods that do not tolerate it. */
export const taintSchema = struct('core.v1.Taint', 'A taint: repels Pods that do not tolerate it.', {
  key: text(1, 'Key of the taint.', { required: true, rule: checkQualifiedName }),
  value: text(2, 'Value of the taint.', { rule: checkLabelValue }),
  effect: text(3, 'Effect on Pods without a toleration: NoSchedule, PreferNoSchedule or NoExecute.', {
    required: true,
    enum: taintEffects,
  }),
  timeAdded: time(4, 'Time when a NoExecute taint was added.', { optional: true }),
})

/** Rejects duplicate taints. @param at of the spec that has the taints */
export function checkTaints(spec: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  for (const [index, taint] of objectsMember(spec, 'taints').entries()) {
    const given = `${textMember(taint, 'effect')} ${textMember(taint, 'key')}`
    if (seen.has(given)) found.add(duplicate(fieldAt(at, 'taints', index), taint))
    seen.add(given)
  }
}
