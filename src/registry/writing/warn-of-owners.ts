import { textMember } from '../../api/json.ts'
import { partsOf } from '../../store/key.ts'
import type { View } from '../../store/object-store.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { VerbRequest } from '../calls/verb.ts'
import type { Catalog } from '../kinds/catalog.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { distinctOwners, isElsewhere, ownerPlace, ownersOf } from '../kinds/owner-reference.ts'
import type { OwnerReference } from '../kinds/owner-reference.ts'

/** Maximum number of references that are examined: for each, many namespaces may be searched. */
const examinedMax = 20

/**
 * Warns of new references to owners that the garbage collector cannot follow, because they are in a
 * namespace and the object is in another one or in none. They are valid, as upstream.
 *
 * @param current null: the object is new
 */
export function warnOfOwners(
  { catalog, rawStore }: Pick<VerbDependencies, 'catalog' | 'rawStore'>,
  { context }: Pick<VerbRequest, 'context'>,
  { metadata }: AnyObject,
  current: AnyObject | null,
): void {
  if (metadata['ownerReferences'] === undefined) return
  const known = new Set(current === null ? [] : ownersOf(current.metadata).map(({ uid }) => uid))
  const { namespace = '' } = metadata
  const view = rawStore.view()
  for (const [at, owner] of ownersOf(metadata).slice(0, examinedMax).entries()) {
    if (known.has(owner.uid)) continue
    const words = warningOf({ catalog, view }, owner, namespace)
    if (words !== null) context.warn(`metadata.ownerReferences[${at}]: ${words}`)
  }
}

/** Warns of references that are sent twice: they are stored once. */
export function warnOfRepeatedOwners(
  { context }: Pick<VerbRequest, 'context'>,
  { metadata }: AnyObject,
): void {
  const sent = metadata.ownerReferences ?? []
  if (sent.length < 2) return
  const distinct = new Set(distinctOwners(sent))
  const repeated = sent.filter((reference) => !distinct.has(reference))
  if (repeated.length === 0) return
  const uids = new Set(repeated.map((reference) => JSON.stringify(textMember(reference, 'uid').slice(0, 64))))
  const shown = [...uids].slice(0, examinedMax).join(', ')
  context.warn(
    `metadata.ownerReferences contains duplicate entries, which are stored once; duplicate UID(s): ${shown}`,
  )
}

function warningOf(
  { catalog, view }: { readonly catalog: Catalog; readonly view: View },
  owner: OwnerReference,
  namespace: string,
): string | null {
  const named = `${owner.kind} ${JSON.stringify(owner.name.slice(0, 253))}`
  const place = ownerPlace(catalog, owner, namespace)
  if (place.kind === 'misplaced') {
    return `the owner ${named} is in a namespace, and this object is not: it will not be deleted with its owner`
  }
  if (place.kind !== 'key') return null
  if (view.get(place.key)?.uid === owner.uid || !isElsewhere(view, place.key, owner.uid)) return null
  const { namespace: own } = partsOf(place.key)
  return `the owner ${named} does not exist in namespace ${JSON.stringify(own)}: this object will be garbage collected`
}
