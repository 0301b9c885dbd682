import { keyOf, partsOf, prefixOf } from '../../store/key.ts'
import type { Key, KeyPrefix, KeyParts } from '../../store/key.ts'

/*
 * A write that changes an object and thereby removes it (the last finalizer) returns an object that
 * no stored version has. If the write has an idempotency key, that response is stored as an object
 * of its own, which is not part of the API. Its key names the resource of the returned object, so
 * that encryption at rest uses the keys of that resource.
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

/**
 * Returns the resource of the object that a kept response shows. @returns null: the key is not that
 * of a kept response
 */
export function resourceOfKeptResponse(key: Key): Pick<KeyParts, 'group' | 'plural'> | null {
  if (!key.startsWith(keptResponsesPrefix)) return null
  const [plural = '', ...group] = partsOf(key).namespace.split('.')
  return { plural, group: group.join('.') }
}

/** Names of resources have no dot. */
function resourceOf({ group, plural }: Pick<KeyParts, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`
}
