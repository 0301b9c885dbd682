import type { Findings } from '../../api/findings.ts'
import { fieldForbidden, notSupported, required } from '../../api/field-error.ts'
import { memberOf, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'

const STRATEGIES = ['None', 'Webhook']

/**
 * How objects become those of another version: only their apiVersion changes. A definition that wants more is refused
 * rather than served in a way that it does not mean.
 */
export function checkConversion(conversion: JsonObject, at: Path, found: Findings): void {
  const strategy = textMember(conversion, 'strategy')
  const field = fieldAt(at, 'strategy')
  if (strategy === '') {
    found.add(required(field))
    return
  }
  if (!STRATEGIES.includes(strategy)) {
    found.add(notSupported(field, strategy, STRATEGIES))
    return
  }
  if (strategy === 'Webhook') {
    const words =
      'conversion webhooks are not called by this release of the server: use None, which changes apiVersion only'
    found.add(fieldForbidden(field, words))
    return
  }
  if (memberOf(conversion, 'webhook') === undefined) return
  found.add(fieldForbidden(fieldAt(at, 'webhook'), 'should not be set when strategy is not set to Webhook'))
}
