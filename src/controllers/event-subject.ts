import { ApiError } from '../api/errors/api-error.ts'
import { apiVersionOf } from '../registry/kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { EventSubject } from './event-object.ts'

/** Returns an object as the subject of events. */
export function subjectOf(
  definition: ResourceDefinition,
  { metadata }: Pick<AnyObject, 'metadata'>,
): EventSubject {
  const { namespace = '', name = '', uid = '' } = metadata
  return { apiVersion: apiVersionOf(definition), kind: definition.kind, namespace, name, uid }
}

/** Returns where an object is. */
export function objectPlace(key: Key): { readonly namespace: string | null; readonly name: string } {
  const { namespace, name } = partsOf(key)
  return { namespace: namespace === '' ? null : namespace, name }
}

/**
 * Reads an object of the core group to record an event about it.
 *
 * @param at.namespace null: a cluster-scoped kind
 * @returns an empty list: there is no such object
 */
export async function storedSubject(
  { catalog, client }: { readonly catalog: Catalog; readonly client: LocalClient },
  plural: string,
  at: { readonly namespace: string | null; readonly name: string },
): Promise<readonly EventSubject[]> {
  const definition = catalog.find('', 'v1', plural)
  if (definition === null) return []
  const object = await client.get(definition, { ...at, subresource: null })
  return object === null ? [] : [subjectOf(definition, object)]
}

/**
 * Returns an error in a word, for events about Secrets: the message of an error may quote the
 * Secret, and users with permission to read events may lack it for Secrets.
 */
export function codeOf(cause: unknown): string {
  return cause instanceof ApiError ? cause.code : 'internal error'
}

/** Most names that a message has; the others are counted. */
const namesMax = 10

/** Returns `a, b`, or `a, b and 5 more`. */
export function listedNames(names: readonly string[]): string {
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : ''
  return names.slice(0, namesMax).join(', ') + more
}
