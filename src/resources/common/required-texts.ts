import type { Findings } from '../../api/errors/findings.ts'
import { required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textMember } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

/**
 * Checks members that are required although the published schema does not list them as required.
 */
export function requiredTexts(
  value: JsonObject,
  at: Path | null,
  names: readonly string[],
  found: Findings,
): void {
  for (const name of names.filter((name) => textMember(value, name) === ''))
    found.add(required(fieldAt(at, name)))
}
