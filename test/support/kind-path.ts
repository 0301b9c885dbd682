import { objectMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'

/** Path of all objects of a kind, of the namespace `default` where there are namespaces. */
export function collectionOf({ group, version, plural, scope }: ResourceDefinition): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${scope === 'Namespaced' ? '/namespaces/default' : ''}/${plural}`
}

export function nameOf(object: JsonObject): string {
  return textMember(objectMember(object, 'metadata'), 'name')
}
