import { objectMember } from '../../api/json.ts'
import { member, spellPath } from '../../api/schema/path.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { notEnforcedYet } from '../common/not-enforced.ts'
import { isByWebhook } from './definition-conversion.ts'

/**
 * Warns of the parts of a definition that are stored but that the server does not act on yet: one
 * warning for each.
 */
export function* definitionWarnings(definition: AnyObject): Iterable<string> {
  const conversion = objectMember(objectMember(definition, 'spec'), 'conversion')
  if (!isByWebhook(conversion)) return
  const words =
    'the conversion webhook is not called, objects are only served in the version that they are stored in'
  const at = member(member(member(null, 'spec'), 'conversion'), 'strategy')
  yield notEnforcedYet(spellPath(at), words)
}
