import type { AnyObject, ResourceDefinition } from '../../../src/registry/kinds/definition.ts'
import type { Propagation } from '../../../src/registry/calls/delete-options.ts'
import { ApiError } from '../../../src/api/errors/api-error.ts'
import type { JsonObject } from '../../../src/api/json.ts'
import type { Names } from '../../../src/api/metadata/names.ts'
import { BrokenInvariant } from '../../../base/assert.ts'
import type { ControlledProcess } from './controlled-process.ts'

/** A write of a client, which is repeated at any member until a response arrives. */
export type Task = {
  /** Unique in its round. */
  readonly label: string
  /** The tasks that have to be answered before. */
  readonly after: readonly string[]
  /**
   * Performs the write at a member; does nothing when an earlier attempt took effect.
   *
   * @throws when it has to be repeated
   */
  readonly perform: (at: ControlledProcess) => Promise<void>
}

/** The group of the custom kinds. */
export const definitionGroup = 'example.com'

/**
 * A kind and its place: the stem of a group or `definitionGroup` (unset: the core group), the
 * plural, and the namespace; null: the kind is cluster-scoped, or for lists all namespaces.
 */
export type Kind = {
  readonly group?: string
  readonly plural: string
  readonly namespace: string | null
}

/** Returns the stored group: stems of the core and plain groups stay as they are. */
export function groupOf(names: Names, { group = '' }: Pick<Kind, 'group'>): string {
  return group === definitionGroup ? group : names.group(group)
}

/** Creates an object. @param body may depend on what is stored at that time */
export function create(
  kind: Kind,
  name: string,
  body: (at: ControlledProcess) => JsonObject | Promise<JsonObject>,
  after: readonly string[] = [],
): Task {
  return {
    label: `${kind.plural}/${kind.namespace ?? ''}/${name}`,
    after,
    perform: async (at) => {
      const definition = definitionAt(at, kind)
      const { metadata, ...content } = await body(at)
      const object = {
        apiVersion: definition.group === '' ? 'v1' : `${definition.group}/v1`,
        kind: definition.kind,
        ...content,
        metadata: { ...(metadata as JsonObject | undefined), name },
      } as AnyObject
      try {
        await at.client.create(definition, kind.namespace, object)
      } catch (cause) {
        if (!(cause instanceof ApiError && cause.code === 'AlreadyExists')) throw cause
      }
    },
  }
}

/** Creates an object again as soon as the deleted one is gone. */
export function createAgain(
  kind: Kind,
  name: string,
  body: () => JsonObject,
  after: readonly string[],
): Task {
  return {
    label: `again ${kind.plural}/${kind.namespace ?? ''}/${name}`,
    after,
    perform: async (at) => {
      const target = { namespace: kind.namespace, name, subresource: null }
      const found = await at.client.get(definitionAt(at, kind), target)
      if (found?.metadata.deletionTimestamp !== undefined)
        throw new ApiError('Conflict', `${name} is being deleted`)
      if (found === null) await create(kind, name, body).perform(at)
    },
  }
}

/** Deletes an object. */
export function remove(
  kind: Kind,
  name: string,
  options: { readonly propagationPolicy?: Propagation; readonly gracePeriodSeconds?: number } = {},
  after: readonly string[] = [],
): Task {
  return {
    label: `delete ${kind.plural}/${kind.namespace ?? ''}/${name}`,
    after,
    perform: async (at) => {
      const definition = definitionAt(at, kind)
      const target = { namespace: kind.namespace, name, subresource: null }
      const object = await at.client.get(definition, target)
      if (object === null || object.metadata.deletionTimestamp !== undefined) return
      await at.client.delete(definition, target, object, options)
    },
  }
}

/** Returns the UID of an object that an earlier task created. */
export async function uidOf(at: ControlledProcess, kind: Kind, name: string): Promise<string> {
  const target = { namespace: kind.namespace, name, subresource: null }
  const found = await at.client.get(definitionAt(at, kind), target)
  const uid = found?.metadata.uid
  if (uid === undefined) throw new BrokenInvariant(`${kind.plural} ${name} exists`)
  return uid
}

/** @throws ApiError `NotFound` for a custom kind that is not served there yet */
function definitionAt(at: ControlledProcess, kind: Kind): ResourceDefinition {
  const definition = at.catalog.find(groupOf(at.names, kind), 'v1', kind.plural)
  if (definition === null) throw new ApiError('NotFound', `${kind.plural} are not served`)
  return definition
}
