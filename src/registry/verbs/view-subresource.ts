import type { VerbResponse } from '../calls/verb.ts'
import type { AnyObject, ViewSubresource } from '../kinds/definition.ts'
import { encode, parseBytes, withRevision } from '../kinds/encode.ts'
import type { Rewrite } from '../writing/rewrite.ts'
import { revision } from '../../store/revision.ts'
import { validateBody } from '../writing/validate-write.ts'

/** What was asked of an object, answered in the shape of another kind. */
export function showView({ view }: ViewSubresource, answer: VerbResponse): VerbResponse {
  if (answer.kind !== 'document' || answer.isStatus === true) return answer
  const shown = view.show(parseBytes(answer.bytes))
  const { resourceVersion } = shown.metadata
  // What a dry run would have written has none.
  const version = resourceVersion ? revision(Number(resourceVersion)) : null
  return { ...answer, bytes: withRevision(encode(shown), version) }
}

/**
 * The change of an object that somebody says in the shape of another kind. What that says of the
 * object's identity and version are conditions; all other metadata is the object's.
 *
 * @param say what is said, of the schema, when the object is that
 */
export function changeThroughView(
  { body, view }: ViewSubresource,
  say: (current: AnyObject) => AnyObject,
): Rewrite['change'] {
  return (current) => {
    const said = say(current)
    const { name = '', uid, resourceVersion } = said.metadata
    validateBody(body, name, said)
    const changed = view.change(said, current)
    const metadata = {
      ...current.metadata,
      ...(resourceVersion ? { resourceVersion } : {}),
      ...(uid ? { uid } : {}),
    }
    return { ...changed, metadata }
  }
}
