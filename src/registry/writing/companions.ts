import type { Operation } from '../../store/command.ts'
import { keyOf, partsOf } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import type { WriteRequest } from '../calls/verb.ts'
import { parseStored } from '../kinds/encode.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { SealedObjectError } from '../shared/sealed-object-error.ts'
import { withExtraOperations } from './plan.ts'
import type { Plan } from './plan.ts'

/**
 * Adds the removal of the object of another kind that has the same name and is removed with this
 * one. One with finalizers stays, and so does one that this member cannot decrypt: whether it has
 * finalizers is unknown.
 */
export function withCompanion({ definition }: WriteRequest, reads: ReadSet, plan: Plan): Plan {
  const place = definition.hooks.removedToo
  if (place === undefined || plan.kind === 'answer') return plan
  const [first] = plan.operations
  if (first?.kind !== 'delete') return plan
  const { namespace, name } = partsOf(first.key)
  const companion = reads.getOther(keyOf({ ...place, namespace, name }))
  if (companion === null || !isRemovable(companion)) return plan
  const { key, revision } = companion
  // On the condition that it is unchanged: it may have got finalizers that this member does not
  // know yet.
  const removal: Operation = { kind: 'delete', key, conditions: [{ kind: 'revision-is', revision }] }
  return withExtraOperations(plan, [removal])
}

function isRemovable(stored: StoredObject): boolean {
  try {
    return (parseStored(stored).metadata.finalizers ?? []).length === 0
  } catch (cause) {
    if (cause instanceof SealedObjectError) return false
    throw cause
  }
}
