import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { numberMember, textMember } from '../../api/json.ts'
import { checkLabelValue, checkQualifiedName } from '../../api/metadata/name-rules.ts'
import { int64, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { taintEffects } from '../nodes/taint.ts'

export const tolerationSchema = struct(
  'core.v1.Toleration',
  'Lets a Pod onto nodes with a taint that keeps others away.',
  {
    key: text(1, 'Key of the taint; unset with Exists is every taint.', { rule: checkQualifiedName }),
    operator: text(2, 'Equal: the taint has the value; Exists: whatever value. Unset is Equal.', {
      enum: ['Equal', 'Exists'],
    }),
    value: text(3, 'Value of the taint; none with Exists.'),
    effect: text(4, 'Effect of the taint; unset is all of them.', { enum: taintEffects }),
    tolerationSeconds: int64(5, 'How long with NoExecute; unset is for ever, below 1 not at all.', {
      optional: true,
    }),
  },
  { check: checkToleration },
)

/** @source core `pkg/apis/core/validation`, ValidateTolerations */
function checkToleration(toleration: JsonObject, at: Path | null, found: Findings): void {
  const [key, operator] = [textMember(toleration, 'key'), textMember(toleration, 'operator')]
  const [value, effect] = [textMember(toleration, 'value'), textMember(toleration, 'effect')]
  const wrong = (name: string, said: string, words: string): void => {
    found.add(invalid(fieldAt(at, name), said, words))
  }
  if (key === '' && operator !== 'Exists') {
    wrong(
      'operator',
      operator,
      'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    )
  }
  if (numberMember(toleration, 'tolerationSeconds') !== null && effect !== 'NoExecute') {
    wrong('effect', effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
  }
  if (operator === 'Exists') {
    if (value !== '') wrong('operator', operator, "value must be empty when `operator` is 'Exists'")
  } else {
    if (operator === '' || operator === 'Equal') {
      for (const words of checkLabelValue(value)) wrong('operator', value, words)
    }
  }
}
