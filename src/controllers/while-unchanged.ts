import { placeOf } from '../registry/kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { OtherRevision } from '../store/command.ts'
import { keyOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { noRevision, revision } from '../store/revision.ts'

/**
 * Returns the precondition for a write about another object: that object is still at the version
 * that the decision was based on. So a leader that stalled after its decision writes nothing.
 */
export function whileUnchanged(definition: ResourceDefinition, { metadata }: AnyObject): OtherRevision {
  const { namespace = '', name = '', resourceVersion = '' } = metadata
  return {
    kind: 'other-revision-is',
    key: keyOf({ namespace, name, ...placeOf(definition) }),
    revision: revision(Number(resourceVersion)),
  }
}

/** Returns the precondition that there is no object with that key. */
export function whileAbsent(key: Key): OtherRevision {
  return { kind: 'other-revision-is', key, revision: noRevision }
}
