import type { Findings } from '../../api/errors/findings.ts'
import { invalid, notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, textMember } from '../../api/json.ts'
import { checkQualifiedName } from '../../api/metadata/name-rules.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/
const REASON_WORDS =
  'a condition reason must start with alphabetic character, optionally followed by a string of ' +
  "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"

/** @source apimachinery `pkg/apis/meta/v1/validation`, ValidateCondition */
export function checkCondition(condition: JsonObject, at: Path | null, found: Findings): void {
  const [type, status] = [textMember(condition, 'type'), textMember(condition, 'status')]
  const reason = textMember(condition, 'reason')
  for (const words of type === '' ? [] : checkQualifiedName(type))
    found.add(invalid(fieldAt(at, 'type'), type, words))
  if (status !== '' && !['True', 'False', 'Unknown'].includes(status))
    found.add(notSupported(fieldAt(at, 'status'), status, ['False', 'True', 'Unknown']))
  if (
    textMember(condition, 'lastTransitionTime') === '' ||
    memberOf(condition, 'lastTransitionTime') === null
  )
    found.add(required(fieldAt(at, 'lastTransitionTime'), 'must be set'))
  if (reason !== '' && !REASON.test(reason)) found.add(invalid(fieldAt(at, 'reason'), reason, REASON_WORDS))
}
