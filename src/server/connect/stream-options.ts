import { badRequest } from '../../api/errors/standard-errors.ts'
import { isJsonList, memberOf, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import type { AnyObject, BodyKind } from '../../registry/kinds/definition.ts'
import { firstOf, isSet } from '../http/query.ts'
import type { Query } from '../http/query.ts'

/**
 * Reads the options of exec, attach and port-forward from the parameters of a request.
 *
 * @throws ApiError `BadRequest`
 * @source core `pkg/apis/core/types.go`: PodExecOptions, PodAttachOptions, PodPortForwardOptions
 */
export function streamOptions(
  connects: 'exec' | 'attach' | 'portforward',
  kind: BodyKind,
  query: Query,
): AnyObject {
  const head = { kind: kind.kind, apiVersion: kind.version, metadata: {} }
  if (connects === 'portforward') {
    const ports = (query.get('ports') ?? []).flatMap((text) => text.split(',')).map(portOf)
    return ports.length === 0 ? head : { ...head, ports }
  }
  const options: JsonObjectDraft = {}
  for (const stream of ['stdin', 'stdout', 'stderr', 'tty']) if (isSet(query, stream)) options[stream] = true
  const container = firstOf(query, 'container') ?? ''
  if (container !== '') options['container'] = container
  const command = query.get('command') ?? []
  if (connects === 'exec' && command.length > 0) options['command'] = [...command]
  return { ...head, ...options }
}

/** @throws ApiError `BadRequest` */
function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535)
    throw badRequest(`ports: ${JSON.stringify(text.slice(0, 64))} is not the number of a port`)
  return port
}

/**
 * Returns the parameters for the node agent.
 *
 * @param options as admission left them
 * @throws ApiError `BadRequest` in the words of the node agent, which would refuse the same options
 * @source core `pkg/registry/core/pod/strategy.go`, streamParams
 */
export function agentQuery(
  connects: 'exec' | 'attach' | 'portforward',
  options: JsonObject,
): URLSearchParams {
  const query = new URLSearchParams()
  if (connects === 'portforward') {
    const ports = memberOf(options, 'ports')
    const numbers = isJsonList(ports) ? ports.filter((port) => typeof port === 'number') : []
    if (numbers.length > 0) query.set('port', numbers.join(','))
    return query
  }
  const names = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const
  for (const [option, name] of Object.entries(names))
    if (memberOf(options, option) === true) query.set(name, '1')
  if (!(query.has('input') || query.has('output') || query.has('error')))
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr')
  for (const word of textsMember(options, 'command')) query.append('command', word)
  return query
}

/** Returns the container that the options name. @returns empty: none */
export function containerOf(options: JsonObject): string {
  return textMember(options, 'container')
}
