import { assert } from '../../../base/assert.ts'
import type { Schema } from '../../api/schema/schema.ts'
import type { ConnectSubresource, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { capital } from './operation.ts'
import type { Ids, Operation, PathOfKind } from './operation.ts'
import * as parameters from './parameters.ts'
import type { Parameter } from './parameters.ts'

export type ConnectionOfKind = {
  readonly definition: ResourceDefinition
  readonly subresource: ConnectSubresource
  /** The path of the collection. */
  readonly collection: string
  /** The parameters of the path of the collection. */
  readonly place: readonly Parameter[]
  readonly id: Ids
}

/**
 * Returns the paths of a subresource that connects: its query parameters are its options, and the
 * bodies are those of another server.
 *
 * @source apiserver `pkg/endpoints/installer.go` of release 1.24, registerResourceHandlers
 */
export function connectionPaths(connection: ConnectionOfKind): readonly PathOfKind[] {
  const { definition, subresource, collection, place } = connection
  const { name, connects, options } = subresource
  const path = `${collection}/{name}/${name}`
  const own = [
    parameters.nameOf(options?.kind ?? definition.kind),
    ...place,
    ...queryParameters(subresource),
    ...(connects === 'log' ? [parameters.pretty] : []),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const of = { definition, ...(options === null ? {} : { options }) }
  if (connects === 'log') return [{ ...of, path, parameters: own, operations: [logOperation(connection)] }]
  const paths = [{ ...of, path, parameters: own, operations: operationsOf(connection, '') }]
  if (connects !== 'proxy') return paths
  const operations = operationsOf(connection, 'WithPath')
  return [...paths, { ...of, path: `${path}/{path}`, parameters: [...own, below], operations }]
}

/** The path at the target of a proxy. A query parameter has the same name. */
const below: Parameter = {
  ...{ name: 'path', in: 'path', type: 'string', required: true },
  description: 'path to the resource',
}

function logOperation({ definition, subresource: { name }, id }: ConnectionOfKind): Operation {
  return {
    ...{ method: 'get', id: `${id('read', definition.scope)}${capital(name)}`, action: 'get' },
    description: `read ${name} of the specified ${definition.kind}`,
    ...{ parameters: [], body: null, answer: 'text', codes: [200] },
  }
}

const STREAM_METHODS = ['get', 'post'] as const
const PROXY_METHODS = ['delete', 'get', 'head', 'options', 'patch', 'post', 'put'] as const

/** @param suffix of the operation ids */
function operationsOf(connection: ConnectionOfKind, suffix: string): readonly Operation[] {
  const { definition, subresource, id } = connection
  const { name, connects } = subresource
  const methods = connects === 'proxy' ? PROXY_METHODS : STREAM_METHODS
  return methods.map((method) => ({
    ...{ method, action: 'connect' },
    // Such as `connectCoreV1GetNamespacedPodExec`.
    id: `${id('connect', definition.scope, method)}${capital(name)}${suffix}`,
    description: `connect ${method.toUpperCase()} requests to ${name} of ${definition.kind}`,
    ...{ parameters: [], body: null, answer: 'any', codes: [200] },
  }))
}

/**
 * Returns the parameters. A time is accepted as a parameter, but the documents of upstream do not
 * have it.
 */
function queryParameters({ parameters: { properties } }: ConnectSubresource): readonly Parameter[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (schema.type === 'string' && schema.format === 'date-time') return []
    return [parameters.query(name, typeOf(schema), schema.description ?? '')]
  })
}

/** A list is a parameter that may be repeated, which these documents do not express. */
function typeOf(schema: Schema): Parameter['type'] {
  if (schema.type === 'list') return typeOf(schema.items)
  const { type } = schema
  assert(type === 'string' || type === 'boolean' || type === 'integer', `no parameter is of type ${type}`)
  return type
}
