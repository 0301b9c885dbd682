import { childrenOf } from '../../api/custom/schema-children.ts'
import { markerNames } from '../../api/custom/structural.ts'
import { isJsonList, isJsonObject, memberOf, objectMember, objectsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { listIndex, member, spellPath } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { notEnforcedYet } from '../common/not-enforced.ts'
import { isByWebhook } from './definition-conversion.ts'

/**
 * Warns of the parts of a definition that are stored but that the server does not act on yet: one
 * warning for each.
 */
export function* definitionWarnings(definition: AnyObject, names: Names): Iterable<string> {
  const spec = objectMember(definition, 'spec')
  const at = member(null, 'spec')
  if (isByWebhook(objectMember(spec, 'conversion'))) {
    const words =
      'the conversion webhook is not called, objects are only served in the version that they are stored in'
    yield notEnforcedYet(spellPath(member(member(at, 'conversion'), 'strategy')), words)
  }
  for (const [index, version] of objectsMember(spec, 'versions').entries()) {
    const place = listIndex(member(at, 'versions'), index)
    const schema = memberOf(objectMember(version, 'schema'), 'openAPIV3Schema')
    const rules = markerNames(names.schemaMarkerPrefix).validations
    const ruled = isJsonObject(schema) ? firstWith(schema, schemaAt(place), rules) : null
    if (ruled !== null)
      yield notEnforcedYet(spellPath(member(ruled, rules)), 'validation rules are not evaluated')
  }
}

function schemaAt(version: Path): Path {
  return member(member(version, 'schema'), 'openAPIV3Schema')
}

/**
 * Finds the first schema with a non-empty list of that name, the outermost first. Linear in the
 * size of the schema.
 */
function firstWith(schema: JsonObject, at: Path, word: string): Path | null {
  if (hasElements(schema, word)) return at
  for (const child of childrenOf(schema, at)) {
    const found = firstWith(child.json, child.at, word)
    if (found !== null) return found
  }
  return null
}

function hasElements(of: JsonObject, name: string): boolean {
  const list = memberOf(of, name)
  return isJsonList(list) && list.length > 0
}
