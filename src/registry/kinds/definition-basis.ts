import { ApiError } from '../../api/errors/api-error.ts'
import { methodNotSupported } from '../../api/errors/standard-errors.ts'
import type { GroupResource } from '../../api/errors/standard-errors.ts'
import type { Condition, Operation } from '../../store/command.ts'
import type { Key } from '../../store/key.ts'
import type { ObjectStore, StoredObject } from '../../store/object-store.ts'
import type { DefinitionBasis, ResourceDefinition } from './definition.ts'
import { parseStored } from './encode.ts'

/** The definition of the kind changed or was deleted: the kind must be looked up again. */
export class DefinitionChangedError extends Error {
  constructor(key: Key) {
    super(`${key} changed after the kind was built from it`)
    this.name = 'DefinitionChangedError'
  }
}

/** State of the definition of a kind in this member's memory. */
export type DefinitionState = {
  /** With this condition a write takes effect only if the definition is unchanged. */
  readonly condition: Condition
  /** The definition is being deleted: no objects may be created. */
  readonly terminating: boolean
}

/** The definitions of custom kinds in this member's memory. */
export class DefinitionStates {
  readonly #store: Pick<ObjectStore, 'view'>
  /** A definition is parsed once per version; the entry lives as long as the version. */
  readonly #generations = new WeakMap<StoredObject, number>()

  constructor(store: Pick<ObjectStore, 'view'>) {
    this.#store = store
  }

  /** @throws DefinitionChangedError; StoreError */
  current({ key, uid, generation }: DefinitionBasis): DefinitionState {
    const stored = this.#store.view().get(key)
    if (stored?.uid !== uid || this.#generation(stored) !== generation) throw new DefinitionChangedError(key)
    const { revision, terminating } = stored
    return { condition: { kind: 'other-revision-is', key, revision }, terminating }
  }

  #generation(stored: StoredObject): number {
    let generation = this.#generations.get(stored)
    if (generation === undefined) {
      generation = parseStored(stored).metadata.generation ?? 0
      this.#generations.set(stored, generation)
    }
    return generation
  }
}

/** @source apiextensions-apiserver `pkg/apiserver/customresource_handler.go` */
export function definitionTerminating(of: GroupResource): ApiError {
  const { code, details } = methodNotSupported(of, 'create')
  return new ApiError(code, 'create not allowed while custom resource definition is terminating', details)
}

/** Unset: a built-in kind. */
export function basisOf({ custom }: ResourceDefinition): DefinitionBasis | undefined {
  return custom?.basis
}

/**
 * Adds the condition to the first put, so that all operations depend on it. A deletion alone does
 * not depend on the definition.
 */
export function withPrecondition(
  operations: readonly Operation[],
  now: DefinitionState | undefined,
): readonly Operation[] {
  if (now === undefined) return operations
  const at = operations.findIndex(({ kind }) => kind === 'put')
  const first = operations[at]
  if (first === undefined) return operations
  return operations.with(at, { ...first, conditions: [...first.conditions, now.condition] })
}
