import { ALL_OBJECTS } from '../key.ts'

/**
 * The events under a prefix, with a hash to compare first: events of one resource or namespace are
 * found without comparing the keys of all others.
 */
export type Scope = {
  readonly prefix: string
  /** `all`: compare the text only. */
  readonly level: 'all' | 'resource' | 'namespace'
  readonly hash: number
}

export function scopeOf(prefix: string): Scope {
  const slashes = prefix.split('/').length - 1
  const hashes = scopeHashes(prefix)
  if (prefix.endsWith('/') && slashes === 2) return { prefix, level: 'resource', hash: hashes.resource }
  if (prefix.endsWith('/') && slashes === 3) return { prefix, level: 'namespace', hash: hashes.namespace }
  return { prefix, level: 'all', hash: 0 }
}

/**
 * Hashes of a key's parts up to its second and its third slash.
 * @source Fowler, Noll, Vo: FNV-1a, 32 bits, over UTF-16 code units
 */
export function scopeHashes(key: string): { readonly resource: number; readonly namespace: number } {
  let hash = 0x811c9dc5
  let slashes = 0
  let resource = 0
  for (let at = 0; at < key.length; at++) {
    const unit = key.charCodeAt(at)
    hash = Math.imul(hash ^ unit, 0x01000193)
    if (unit !== 0x2f) continue
    slashes++
    if (slashes === 2) resource = hash >>> 0
    if (slashes === 3) return { resource, namespace: hash >>> 0 }
  }
  return { resource, namespace: 0 }
}

/**
 * Returns the prefixes of watches that an event concerns: all objects, its resource, and its
 * namespace.
 */
export function prefixesOf(key: string): readonly [all: string, resource: string, namespace: string] {
  const second = key.indexOf('/', key.indexOf('/') + 1)
  const third = key.indexOf('/', second + 1)
  return [ALL_OBJECTS, key.slice(0, second + 1), key.slice(0, third + 1)]
}
