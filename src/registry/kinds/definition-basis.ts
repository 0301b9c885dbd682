import { ApiError } from '../../api/errors/api-error.ts'
import { methodNotSupported } from '../../api/errors/standard-errors.ts'
import type { GroupResource } from '../../api/errors/standard-errors.ts'
import type { Condition, Operation } from '../../store/command.ts'
import type { Key } from '../../store/key.ts'
import type { ObjectStore, StoredObject } from '../../store/object-store.ts'
import type { ResourceDefinition } from './definition.ts'
import { parseStored } from './encode.ts'

/**
 * The object in the store that a custom kind was made of, and as of which change of what it asks
 * for.
 */
export type DefinitionBasis = {
  readonly key: Key
  readonly uid: string
  readonly generation: number
}

/**
 * Memory has another definition than the kind was made of, or none: whoever goes by it has to look
 * the kind up again.
 */
export class DefinitionChangedError extends Error {
  constructor(key: Key) {
    super(`${key} is not as the kind was made of it`)
    this.name = 'DefinitionChangedError'
  }
}

/** How the definition of a kind is, in this member's memory. */
export type DefinitionState = {
  /** With it a write is only made by the definition as it is now. */
  readonly condition: Condition
  /** Its objects are being deleted: no more come. */
  readonly terminating: boolean
}

/** What memory has of the definitions that custom kinds were made of. */
export class DefinitionStates {
  readonly #store: Pick<ObjectStore, 'view'>
  /** A definition is read once per version; the entry goes with the version. */
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

/** Unset: the kind is the program's own. */
export function basisOf({ custom }: ResourceDefinition): DefinitionBasis | undefined {
  return custom?.basis
}

/**
 * The operations, all of which are only made while that holds: a deletion alone goes by no
 * definition.
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
