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
  'A toleration: allows a Pod on nodes with a matching taint.',
  {
    key: text(1, 'Key of the taint; unset with Exists matches all keys.', { rule: checkQualifiedName }),
    operator: text(2, 'Operator: Equal (default) compares the value, Exists ignores it.', {
      enum: ['Equal', 'Exists'],
    }),
    value: text(3, 'Value of the taint; empty with Exists.'),
    effect: text(4, 'Effect of the taint; unset matches all effects.', { enum: taintEffects }),
    tolerationSeconds: int64(
      5,
      'Seconds until eviction with NoExecute; unset means never, below 1 at once.',
      {
        optional: true,
      },
    ),
  },
  { check: checkToleration },
)

/** @source core `pkg/apis/core/validation`, ValidateTolerations */
function checkToleration(toleration: JsonObject, at: Path | null, found: Findings): void {
  const [key, operator] = [textMember(toleration, 'key'), textMember(toleration, 'operator')]
  const [value, effect] = [textMember(toleration, 'value'), textMember(toleration, 'effect')]
  const wrong = (name: string, given: string, words: string): void => {
    found.add(invalid(fieldAt(at, name), given, words))
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
