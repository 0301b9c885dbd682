import { keyOf, partsOf, prefixOf } from '../../store/key.ts'
import type { Key, KeyPrefix, KeyParts } from '../../store/key.ts'

/*
 * A response to a write with an idempotency key that shows an object as no stored version is: the
 * last change of an object that was deleted by it. It is kept as an object of its own, no object of
 * the API, under the resource whose object it shows: encryption at rest seals it with the keys of
 * that resource.
 */

const place = { group: 'internal', plural: 'idempotentresponses' }

export const keptResponsesPrefix = prefixOf({ ...place, namespace: null })

/**
 * @param record key of the record that refers to it
 * @param shown key of the object that it shows
 */
export function keyOfKeptResponse(record: Key, shown: Key): Key {
  const { namespace, name } = partsOf(record)
  return keyOf({ ...place, namespace: resourceOf(partsOf(shown)), name: `${namespace}.${name}` })
}

/** Returns the prefix of the kept responses that show objects of a resource. */
export function keptResponsesOf(resource: Pick<KeyParts, 'group' | 'plural'>): KeyPrefix {
  return prefixOf({ ...place, namespace: resourceOf(resource) })
}

/** Returns the resource whose objects the response shows. @returns null: another object */
export function resourceOfKeptResponse(key: Key): Pick<KeyParts, 'group' | 'plural'> | null {
  if (!key.startsWith(keptResponsesPrefix)) return null
  const [plural = '', ...group] = partsOf(key).namespace.split('.')
  return { plural, group: group.join('.') }
}

/** Names of resources have no dot. */
function resourceOf({ group, plural }: Pick<KeyParts, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`
}
