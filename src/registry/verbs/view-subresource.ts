import type { VerbResponse } from '../calls/verb.ts'
import type { AnyObject, ViewSubresource } from '../kinds/definition.ts'
import { encode, parseBytes, withRevision } from '../kinds/encode.ts'
import type { Rewrite } from '../writing/rewrite.ts'
import { revision } from '../../store/revision.ts'
import { validateBody } from '../writing/validate-write.ts'

/** Converts a response with an object to the kind of the view. */
export function showView({ view }: ViewSubresource, answer: VerbResponse): VerbResponse {
  if (answer.kind !== 'document' || answer.isStatus === true) return answer
  const shown = view.show(parseBytes(answer.bytes))
  const { resourceVersion } = shown.metadata
  // The object of a dry run has no resourceVersion.
  const version = resourceVersion ? revision(Number(resourceVersion)) : null
  return { ...answer, bytes: withRevision(encode(shown), version) }
}

/**
 * Returns the change that an update of a view makes to the object. Identity and version in the view
 * are preconditions; other metadata comes from the object.
 *
 * @param update returns the updated view for the current one
 */
export function changeThroughView(
  { body, view }: ViewSubresource,
  update: (current: AnyObject) => AnyObject,
): Rewrite['change'] {
  return (current) => {
    const updated = update(current)
    const { name = '', uid, resourceVersion } = updated.metadata
    validateBody(body, name, updated)
    const changed = view.change(updated, current)
    const metadata = {
      ...current.metadata,
      ...(resourceVersion ? { resourceVersion } : {}),
      ...(uid ? { uid } : {}),
    }
    return { ...changed, metadata }
  }
}
