import { assertNever } from '../../../base/assert.ts'
import type { Condition, Operation, Outcome } from '../command.ts'
import { keyOf } from '../key.ts'
import type { Key } from '../key.ts'
import { noRevision, revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import type { ObjectTable } from './object-table.ts'

export type Refusal = Extract<Outcome, { readonly kind: 'refused' }>

/**
 * Checks whether all operations of one command may take effect. Later ones see the effects of
 * earlier ones. Changes nothing.
 *
 * @param last the revision before the command; operation i gets the (i + 1)th after it
 * @returns null: all may take effect
 */
export function refusalOf(
  objects: ObjectTable,
  operations: readonly Operation[],
  last: Revision,
): Refusal | null {
  const pending = new PendingWrites(objects)
  for (const [at, operation] of operations.entries()) {
    const lost = lostCondition(pending, operation)
    if (lost !== null) {
      const current = pending.get(operation.key)?.revision ?? noRevision
      return { kind: 'refused', operation: at, condition: lost, current }
    }
    // Nothing depends on the effects of a single operation.
    if (operations.length > 1) pending.perform(operation, revision(last + at + 1))
  }
  return null
}

/** The properties of an object that conditions check. */
type Seen = { readonly revision: Revision; readonly uid: string; readonly terminating: boolean }

/** Overlay of the objects with the effects of the operations so far. */
class PendingWrites {
  readonly #objects: ObjectTable
  /** null: deleted. */
  readonly #changed = new Map<Key, Seen | null>()

  constructor(objects: ObjectTable) {
    this.#objects = objects
  }

  get(key: Key): Seen | null {
    const changed = this.#changed.get(key)
    return changed === undefined ? this.#objects.get(key) : changed
  }

  perform(operation: Operation, at: Revision): void {
    if (operation.kind === 'delete') {
      this.#changed.set(operation.key, null)
      return
    }
    const { uid, terminating } = operation.object
    this.#changed.set(operation.key, { revision: at, uid, terminating })
  }

  isEmpty(prefix: string): boolean {
    for (const [key, seen] of this.#changed) {
      if (seen !== null && key.startsWith(prefix)) return false
    }
    return this.#objects.first(prefix, (version) => this.#changed.get(version.key) !== null) === null
  }
}

function lostCondition(pending: PendingWrites, operation: Operation): Condition | null {
  const seen = pending.get(operation.key)
  for (const condition of operation.conditions) {
    if (!holds(pending, seen, condition)) return condition
  }
  // An absent object cannot be deleted, whatever the conditions.
  return operation.kind === 'delete' && seen === null ? { kind: 'exists' } : null
}

function holds(pending: PendingWrites, seen: Seen | null, condition: Condition): boolean {
  switch (condition.kind) {
    case 'absent':
      return seen === null
    case 'exists':
      return seen !== null
    case 'uid-is':
      return seen?.uid === condition.uid
    case 'revision-is':
      return (seen?.revision ?? noRevision) === condition.revision
    case 'namespace-active':
      return pending.get(namespaceKey(condition.namespace))?.terminating === false
    case 'prefix-empty':
      return condition.prefixes.every((prefix) => pending.isEmpty(prefix))
    case 'other-revision-is':
      return (pending.get(condition.key)?.revision ?? noRevision) === condition.revision
    default:
      return assertNever(condition)
  }
}

function namespaceKey(name: string): Key {
  return keyOf({ group: '', plural: 'namespaces', namespace: '', name })
}
