import type { JsonObject } from '../../api/json.ts'
import { objectsMember, textMember } from '../../api/json.ts'
import { parseGroupVersion } from '../../api/metadata/group-version.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import { keyOf, partsOf, prefixOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { View } from '../../store/object-store.ts'
import type { Catalog } from './catalog.ts'
import { placeOf } from './definition.ts'
import type { ResourceDefinition } from './definition.ts'

/** An entry of `metadata.ownerReferences`. */
export type OwnerReference = {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Whether a foreground deletion of the owner waits for this object. */
  readonly blocks: boolean
}

export function ownersOf(metadata: ObjectMeta): readonly OwnerReference[] {
  return objectsMember(metadata, 'ownerReferences').map(ownerOf)
}

export function ownerOf(reference: JsonObject): OwnerReference {
  return {
    apiVersion: textMember(reference, 'apiVersion'),
    kind: textMember(reference, 'kind'),
    name: textMember(reference, 'name'),
    uid: textMember(reference, 'uid'),
    blocks: reference['blockOwnerDeletion'] === true,
  }
}

/**
 * Returns the references without repetitions. Those that differ in any member stay, as upstream.
 *
 * @source apiserver `pkg/endpoints/handlers/rest.go`, dedupOwnerReferences
 */
export function distinctOwners(references: readonly JsonObject[]): readonly JsonObject[] {
  if (references.length < 2) return references
  const distinct = new Map(references.map((reference) => [spellReference(reference), reference]))
  return distinct.size === references.length ? references : [...distinct.values()]
}

function spellReference(reference: JsonObject): string {
  return JSON.stringify(REFERENCE_MEMBERS.map((name) => reference[name]))
}

const REFERENCE_MEMBERS = ['apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion']

/**
 * The location of an owner, as its dependent names it: `misplaced` if a cluster-scoped object names
 * one in a namespace.
 */
export type OwnerPlace =
  | { readonly kind: 'unknown-kind' | 'misplaced' | 'impossible-name' }
  | { readonly kind: 'key'; readonly key: Key; readonly definition: ResourceDefinition }

/**
 * Returns where an owner is to be found: in the namespace of its dependent, or among the
 * cluster-scoped objects.
 *
 * @param namespace of the dependent; empty: it is cluster-scoped
 */
export function ownerPlace(catalog: Catalog, owner: OwnerReference, namespace: string): OwnerPlace {
  const group = parseGroupVersion(owner.apiVersion)?.group
  const definition = group === undefined ? null : catalog.index().ofKind(group, owner.kind)
  if (definition === null) return { kind: 'unknown-kind' }
  const isNamespaced = definition.scope === 'Namespaced'
  if (isNamespaced && namespace === '') return { kind: 'misplaced' }
  if (owner.name.includes('/')) return { kind: 'impossible-name' }
  const place = { ...placeOf(definition), namespace: isNamespaced ? namespace : '' }
  return { kind: 'key', key: keyOf({ ...place, name: owner.name }), definition }
}

/** Namespaces that are searched for an owner. */
const namespacesMax = 1000

/** Whether an owner that is absent at `key` is in another namespace. */
export function isElsewhere(view: View, key: Key, uid: string): boolean {
  const { namespace: own, ...place } = partsOf(key)
  if (own === '') return false
  const namespaces = view.list(prefixOf({ group: '', plural: 'namespaces', namespace: null }), {
    after: null,
    limit: namespacesMax,
  })
  return namespaces.objects.some((stored) => {
    const namespace = partsOf(stored.key).name
    return view.get(keyOf({ ...place, namespace }))?.uid === uid
  })
}
