import { badRequest, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import { numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Backend, Backends } from '../../backends/backends.ts'
import { ADDRESS_NOT_ALLOWED } from '../../backends/proxyable.ts'
import type { Random } from '../../../base/random.ts'
import type { Connecting } from '../../registry/calls/verb.ts'
import { portNumber, proxyTarget } from './proxy-path.ts'
import type { ProxyTarget } from './proxy-path.ts'

type Locating = {
  /** As in the path. */
  readonly id: string
  /** null: a node. */
  readonly namespace: string | null
  readonly find: Connecting['find']
}

type LocateDependencies = { readonly backends: Backends; readonly random: Random }

/**
 * Returns the target of a proxy.
 *
 * @throws ApiError
 * @source core `pkg/registry/core/{pod,node}/strategy.go`, `pkg/registry/core/service/storage`:
 * ResourceLocation
 */
export function locate(
  plural: 'pods' | 'services' | 'nodes',
  locating: Locating,
  dependencies: LocateDependencies,
): Backend {
  const target = proxyTarget(locating.id)
  if (target === null) throw invalidRequest(plural, locating.id)
  switch (plural) {
    case 'pods':
      return locatePod(target, locating, dependencies)
    case 'services':
      return locateService(target, locating, dependencies)
    case 'nodes':
      return locateNode(target, locating, dependencies)
  }
}

function invalidRequest(plural: string, id: string): Error {
  return badRequest(`invalid ${plural.slice(0, -1)} request ${JSON.stringify(id)}`)
}

function locatePod(
  { scheme, name, port }: ProxyTarget,
  { id, namespace, find }: Locating,
  { backends }: LocateDependencies,
): Backend {
  const pod = find('pods', namespace, name)
  const isSecure = scheme === 'https'
  const status = objectMember(pod, 'status')
  const host = textMember(objectsMember(status, 'podIPs')[0] ?? {}, 'ip') || textMember(status, 'podIP')
  if (!backends.isAllowed(host)) throw badRequest(ADDRESS_NOT_ALLOWED)
  const number = port === '' ? (firstPort(pod) ?? (isSecure ? 443 : 80)) : portNumber(port)
  if (number === null) throw invalidRequest('pods', id)
  return { isSecure, host, port: number, trust: 'any', isRestricted: true }
}

/** Returns the first port of the first container that has any; null: none. */
function firstPort(pod: JsonObject): number | null {
  for (const container of objectsMember(objectMember(pod, 'spec'), 'containers')) {
    const [port] = objectsMember(container, 'ports')
    if (port !== undefined) return numberMember(port, 'containerPort')
  }
  return null
}

function locateService(
  { scheme, name, port }: ProxyTarget,
  { namespace, find }: Locating,
  { backends, random }: LocateDependencies,
): Backend {
  const portName = portNameOf({ name, port }, namespace, find)
  const subsets = objectsMember(find('endpoints', namespace, name), 'subsets')
  const unavailable = serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`)
  if (subsets.length === 0) throw unavailable
  for (const subset of rotated(subsets, random)) {
    const found = objectsMember(subset, 'ports').find((one) => textMember(one, 'name') === portName)
    const number = found === undefined ? null : numberMember(found, 'port')
    if (number === null) continue
    for (const address of rotated(objectsMember(subset, 'addresses'), random)) {
      const host = textMember(address, 'ip')
      if (!backends.isAllowed(host)) continue
      return { isSecure: scheme === 'https', host, port: number, trust: 'any', isRestricted: true }
    }
  }
  throw unavailable
}

/**
 * Returns the name of a port of a Service, which a request may also name by its number.
 *
 * @throws ApiError `ServiceUnavailable` if no port has that number; `NotFound` without such a
 * Service
 */
function portNameOf(
  { name, port }: Pick<ProxyTarget, 'name' | 'port'>,
  namespace: string | null,
  find: Connecting['find'],
): string {
  const number = portNumber(port)
  if (number === null) return port
  const ports = objectsMember(objectMember(find('services', namespace, name), 'spec'), 'ports')
  const found = ports.find((one) => numberMember(one, 'port') === number)
  if (found !== undefined) return textMember(found, 'name')
  throw serviceUnavailable(`no service port ${number} found for service ${JSON.stringify(name)}`)
}

/** Returns the list rotated to a random element, so that all elements are used. */
function rotated(list: readonly JsonObject[], random: Random): readonly JsonObject[] {
  if (list.length < 2) return list
  const from = random.below(list.length)
  return [...list.slice(from), ...list.slice(0, from)]
}

function locateNode(
  { scheme, name, port }: ProxyTarget,
  { id, find }: Locating,
  { backends }: LocateDependencies,
): Backend {
  const agent = { ...backends.nodeAgent(find('nodes', null, name)), isRestricted: true }
  const number = port === '' ? agent.port : portNumber(port)
  if (number === null) throw invalidRequest('nodes', id)
  // The agent gets the certificate of this server; another server on the node does not.
  if (number === agent.port) return agent
  return { ...agent, port: number, isSecure: scheme === 'https', trust: 'any' }
}
