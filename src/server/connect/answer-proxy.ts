import { assert } from '../../../base/assert.ts'
import { methodNotAllowed, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import { textMember } from '../../api/json.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import { baseHeaders, sendBytes } from '../responses/wire.ts'
import { authorityOf, backendError } from './connection.ts'
import type { ConnectDependencies, Connection } from './connection.ts'
import { PROXIED_METHODS, proxiedHeaders, returnedHeaders } from './forwarded-headers.ts'
import { locate } from './locate.ts'
import { passOn } from './pass-on.ts'
import { pathAtTarget, rawQuery, rewrittenLocation } from './proxy-path.ts'
import { answerRefusedUpgrade, answerTunnel, requireUpgrade } from './tunnel.ts'

/**
 * Passes a request on to a node, a Pod or a Service, and the response back. The paths in HTML are
 * not rewritten.
 *
 * @throws ApiError
 * @source apimachinery `pkg/util/proxy/upgradeaware.go`
 */
export async function answerProxy(
  { call, request, reply, subresource, verbRequest, name, namespace }: Connection,
  dependencies: ConnectDependencies,
): Promise<void> {
  const { backends, connect, domain, userHeaders } = dependencies
  const method = call.raw.method ?? 'GET'
  if (!PROXIED_METHODS.includes(method)) throw methodNotAllowed(PROXIED_METHODS)
  const plural = pluralOf(verbRequest.definition)
  const { options: kind } = subresource
  assert(kind !== null, 'a proxy has options')
  const { below } = call.info
  const head = { kind: kind.kind, apiVersion: kind.version, metadata: {} }
  const object = below === '' ? head : { ...head, path: below }
  const { options, find } = await connect(verbRequest, { kind, object })
  assert(options !== null, 'admission returns the options')
  const backend = locate(plural, { id: name, namespace, find }, dependencies)
  const path = textMember(options, 'path')
  const query = rawQuery(call.raw.url ?? '')
  const place = namespace === null ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const base = `/api/v1${place}/${plural}/${encodeURIComponent(name)}/proxy`
  const isRead = method === 'GET' || method === 'HEAD'
  const isUpgrade = dependencies.upgradeOf(call.raw) !== null
  if (path === '' && isRead && !isUpgrade) {
    // Redirects to the path with a slash, from which the relative links of the page are resolved.
    reply.hijack()
    const headers = { ...baseHeaders(call, 'text/plain'), location: `${base}/${query}` }
    sendBytes(call.reply, call, method, 301, headers, new Uint8Array(0))
    return
  }
  const upgrade = isUpgrade ? requireUpgrade(call, dependencies) : null
  const body = Buffer.isBuffer(request.body) && request.body.byteLength > 0 ? request.body : null
  const length = body === null && isRead ? [] : ['content-length', String(body?.byteLength ?? 0)]
  const answer = await backends.send(
    backend,
    {
      ...{ method, path: `${pathAtTarget(path)}${query}`, body },
      headers: [
        ...['host', authorityOf(backend), ...length],
        ...proxiedHeaders(call.raw, { domain, userHeaders, isUpgrade }),
      ],
    },
    call.signal,
  )
  if (answer.kind === 'failed') {
    throw isUpgrade
      ? backendError(`error dialing backend: ${answer.why}`)
      : serviceUnavailable(`error trying to reach service: ${answer.why}`)
  }
  if (answer.kind === 'upgraded') {
    if (upgrade !== null) {
      reply.hijack()
      answerTunnel(upgrade, answer, call)
      return
    }
    answer.socket.destroy()
    throw serviceUnavailable(
      'error trying to reach service: it changed the protocol, which it was not asked for',
    )
  }
  const { response } = answer
  const status = response.statusCode ?? 0
  // HTTP/2 does not allow other codes.
  if (status < 200 || status > 599) {
    response.destroy()
    throw serviceUnavailable(`error trying to reach service: malformed HTTP status code ${status}`)
  }
  if (isUpgrade) {
    await answerRefusedUpgrade(response, { call, reply }, dependencies)
    return
  }
  reply.hijack()
  const headers = returnedHeaders(response)
  const { location } = response.headers
  if (location !== undefined) headers['location'] = rewrittenLocation(location, authorityOf(backend), base)
  await passOn(response, call, {
    code: status,
    headers: { ...headers, 'audit-id': call.id },
    isStream: true,
  })
}

function pluralOf({ plural }: ResourceDefinition): 'pods' | 'services' | 'nodes' {
  assert(plural === 'pods' || plural === 'services' || plural === 'nodes', `${plural} have no proxy`)
  return plural
}
