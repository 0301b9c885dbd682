import { assert } from '../../base/assert.ts'
import type { Brand } from '../../base/brand.ts'

/**
 * Key of an object: `<group>/<plural>/<namespace>/<name>`; the core group and "no namespace" are
 * empty. No part may contain `/` (the API's name rules forbid it), so keys sort by resource, then
 * namespace, then name, and a prefix selects whole levels.
 */
export type Key = Brand<string, 'Key'>

export type KeyParts = {
  readonly group: string
  readonly plural: string
  readonly namespace: string
  readonly name: string
}

export function keyOf({ group, plural, namespace, name }: KeyParts): Key {
  const isKey = isPart(group) && isPart(plural) && isPart(namespace) && isPart(name)
  assert(isKey, 'no part of a key holds a slash')
  return `${group}/${plural}/${namespace}/${name}` as Key
}

function isPart(part: string): boolean {
  return !part.includes('/')
}

/**
 * Prefix of all objects of a resource, or of one namespace of it, up to and including the `/`;
 * empty: all objects.
 */
export type KeyPrefix = Brand<string, 'KeyPrefix'>

export const ALL_OBJECTS = '' as KeyPrefix

export function prefixOf(parts: {
  readonly group: string
  readonly plural: string
  readonly namespace: string | null
}): KeyPrefix {
  const { group, plural, namespace } = parts
  return (namespace === null ? `${group}/${plural}/` : `${group}/${plural}/${namespace}/`) as KeyPrefix
}

export function partsOf(key: Key): KeyParts {
  const [group, plural, namespace, name, rest] = key.split('/')
  assert(rest === undefined && name !== undefined, 'a key has four parts')
  return { group: group as string, plural: plural as string, namespace: namespace as string, name }
}
