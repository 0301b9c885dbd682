import { ApiError } from '../../api/errors/api-error.ts'
import { forbidden, notFound } from '../../api/errors/standard-errors.ts'
import { keyOf } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import { resourceOf } from './definition.ts'
import type { ResourceDefinition } from './definition.ts'
import { parseStored } from './encode.ts'
import type { ReadSet } from '../shared/read-set.ts'

export type NamespaceState = 'absent' | 'active' | 'terminating'

/** The namespaces in this member's memory. */
export class NamespaceStates {
  /** A namespace is parsed once per version; the entry lives as long as the version. */
  readonly #known = new WeakMap<StoredObject, NamespaceState>()

  /** @param reads records that the evaluation depends on the namespace */
  of(namespace: string, reads: Pick<ReadSet, 'getOther'>): NamespaceState {
    if (namespace.includes('/')) return 'absent'
    const key = keyOf({ group: '', plural: 'namespaces', namespace: '', name: namespace })
    const stored = reads.getOther(key)
    if (stored === null) return 'absent'
    const known = this.#known.get(stored)
    if (known !== undefined) return known
    const terminating = typeof parseStored(stored).metadata.deletionTimestamp === 'string'
    const state = terminating ? 'terminating' : 'active'
    this.#known.set(stored, state)
    return state
  }
}

/** Returns why objects cannot be created in a namespace of that state. */
export function namespaceRefusal(
  state: Exclude<NamespaceState, 'active'>,
  of: { readonly definition: ResourceDefinition; readonly namespace: string; readonly name: string },
): ApiError {
  const { definition, namespace, name } = of
  if (state === 'absent') return notFound({ group: '', resource: 'namespaces' }, namespace)
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  const refusal = forbidden(resourceOf(definition), name, why)
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  }
  return new ApiError('Forbidden', refusal.message, { ...refusal.details, causes: [cause] })
}
