import type { JsonObjectDraft } from '../../api/json.ts'
import { memberOf, setMember } from '../../api/json.ts'
import type { AnyObject, PartSubresource, ResourceHooks } from '../../registry/kinds/definition.ts'

/** The object with these members as `current` has them, and without those that it has not. */
export function keeping(object: AnyObject, current: AnyObject, ...names: readonly string[]): AnyObject {
  const draft: JsonObjectDraft = { ...object }
  for (const name of names) {
    const kept = memberOf(current, name)
    if (kept === undefined) delete draft[name]
    else setMember(draft, name, kept)
  }
  return { ...draft, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata }
}

/**
 * `/status`: status and metadata are taken as sent, the spec stays.
 *
 * @param validateUpdate of the status; its shape is checked anyhow
 */
export function statusSubresource(validate?: NonNullable<ResourceHooks['validate']>): PartSubresource {
  return {
    name: 'status',
    verbs: ['get', 'patch', 'update'],
    prepareForUpdate: (object, current) => keeping(object, current, 'spec'),
    ...(validate === undefined
      ? {}
      : { validateUpdate: (object, _current, found) => validate(object, found) }),
  }
}
