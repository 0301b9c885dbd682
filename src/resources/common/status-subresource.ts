import type { JsonObjectDraft } from '../../api/json.ts'
import { memberOf, setMember } from '../../api/json.ts'
import type { AnyObject, PartSubresource, ResourceHooks } from '../../registry/kinds/definition.ts'

/**
 * Returns the object with these members as in `current`; a member that `current` lacks is removed.
 */
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
 * `/status`: an update changes status and metadata, and the spec stays.
 *
 * @param validate checks the status in addition to its schema
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

/** `/status` of a kind where an update changes only the status, and all metadata stays. */
export function statusWithoutMetadata(validate?: NonNullable<ResourceHooks['validate']>): PartSubresource {
  return { ...statusSubresource(validate), prepareForUpdate: onlyStatus }
}

function onlyStatus(object: AnyObject, current: AnyObject): AnyObject {
  return { ...keeping(object, current, 'spec'), metadata: current.metadata }
}

/** `/status` of a kind where an update keeps the labels, and may change other metadata. */
export function statusWithoutLabels(): PartSubresource {
  return {
    ...statusSubresource(),
    prepareForUpdate: (object, current) => {
      const { labels, ...metadata } = object.metadata
      const kept = current.metadata.labels
      const whole = kept === undefined ? metadata : { ...metadata, labels: kept }
      return { ...keeping(object, current, 'spec'), metadata: labels === kept ? object.metadata : whole }
    },
  }
}
