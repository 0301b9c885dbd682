import { badRequest, pathNotFound } from '../../api/errors/standard-errors.ts'
import type { ResourceAction } from '../../api/action.ts'
import type {
  VerbResponse,
  Registry,
  VerbHandler,
  VerbRequest,
  WatchStream,
} from '../../registry/calls/verb.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import type { ResourceDefinition, Verb } from '../../registry/kinds/definition.ts'
import { STORED_FORM, isStoredForm } from '../../registry/representations/representation.ts'
import type { Target } from '../../registry/calls/request.ts'
import { representationWanted } from '../http/accept.ts'
import type { WantedObjects } from '../http/accept.ts'
import { answerPieces } from '../responses/answer-stream.ts'
import { answerWatch } from '../responses/answer-watch.ts'
import type { Authorizer } from '../../auth/decision.ts'
import { limits } from '../../config/limits.ts'
import type { Call } from '../calls/call.ts'
import { bodyMemoryBytes, jsonMemoryBytesMax } from '../load/body-memory.ts'
import type { Compressor } from '../responses/compressor.ts'
import { codingsOf } from '../http/content-coding.ts'
import { idempotencyKeyOf } from '../http/idempotency-key.ts'
import { deprecationWords } from '../http/deprecation.ts'
import { EVERY_METHOD, callOf } from '../calls/fastify-types.ts'
import type { App, Reply, Request } from '../calls/fastify-types.ts'
import { isHeavy } from '../load/heavy-work.ts'
import type { HeavyTask, HeavyWork } from '../load/heavy-work.ts'
import { wasAbandoned } from '../plugins/bodies.ts'
import { laidOut, laidOutPieces } from '../responses/pretty.ts'
import { isPathSegment } from '../http/request-info.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { acceptWebSocket } from '../http/websocket-handshake.ts'
import { answerWebSocket } from '../responses/websocket-watch.ts'
import type { WebSocketUpgrade } from '../responses/websocket-watch.ts'
import { baseHeaders, sendBytes } from '../responses/wire.ts'
import type { RawRequest } from '../http/raw-http.ts'
import { connectionOf } from '../../registry/calls/subresource.ts'
import type { ErrorParts } from '../responses/error-reply.ts'
import { answerConnection } from '../connect/answer-connection.ts'
import type { ConnectDependencies } from '../connect/connection.ts'

/**
 * Serves all paths of spec 4.1 with one dispatcher: the target is parsed already, only the kind is
 * looked up.
 */
export function resourceRoutes(app: App, dependencies: DispatchDependencies): void {
  const handler = dispatcher(dependencies)
  for (const url of ['/api/*', '/apis/*']) app.route({ method: EVERY_METHOD, url, handler })
}

type DispatchDependencies = ErrorParts & {
  readonly registry: Registry
  readonly served: Catalog
  readonly compressor: Compressor
  readonly heavy: HeavyWork
  readonly authorizer: Authorizer
  /** Returns the connection of a request with `Upgrade`, or null. */
  readonly upgradeOf: (raw: RawRequest) => WebSocketUpgrade | null
  readonly connecting: Omit<ConnectDependencies, keyof ErrorParts | 'upgradeOf' | 'connect'>
}

function dispatcher(dependencies: DispatchDependencies): (request: Request, reply: Reply) => Promise<void> {
  const { registry, served, heavy } = dependencies
  /**
   * Looks the kind up again, after this member has applied everything acknowledged before the call.
   * CRDs cannot add kinds to the core group.
   */
  const late = async (
    call: Call,
    { group, version, resource }: ResourceAction,
  ): Promise<ResourceDefinition | null> => {
    if (registry.catalogSync !== null && group !== '')
      await registry.catalogSync.waitUntilCurrent(call.deadlineMs)
    return served.find(group, version, resource)
  }
  const handlers = {
    get: registry.get,
    list: registry.list,
    watch: registry.watch,
    create: registry.create,
    update: registry.update,
    patch: registry.patch,
    delete: registry.delete,
    deletecollection: registry.deleteCollection,
  } satisfies Record<Verb, VerbHandler>

  return async (request, reply) => {
    const call = callOf(request)
    const { action, query, named, shape } = call.info
    if (wasAbandoned(request, reply)) {
      reply.hijack()
      return
    }
    if (action.kind === 'path') throw dependencies.noRoute.refusal(call.info)
    if (shape === 'odd') throw pathNotFound()
    const known = served.find(action.group, action.version, action.resource)
    const definition = known !== null && hasPath(known, call.info) ? known : await late(call, action)
    if (definition === null) throw pathNotFound()
    const target = targetOf(definition, action, named)
    const { verb } = action
    if (request.raw.headers[TRACE_HEADER] !== undefined) await trace(call, dependencies.authorizer)
    const subresource = connectionOf(definition, target.subresource)
    const verbs = verbsAt(definition, target)
    if (subresource !== null && registry.connect !== undefined) {
      // A proxy passes on methods that are no verbs, too.
      if (!isOneOf(verbs, verb) && subresource.connects !== 'proxy') {
        throw dependencies.noRoute.refusal(call.info)
      }
      const verbRequest = { definition, context: call, target, query, body: NO_BODY, contentType: '' }
      const { name, namespace } = target
      await answerConnection(
        { ...{ call, request, reply, subresource, verbRequest }, name: name ?? '', namespace },
        { ...dependencies, ...dependencies.connecting, connect: registry.connect },
      )
      return
    }
    if (!isOneOf(verbs, verb)) throw dependencies.noRoute.refusal(call.info)
    const words = deprecationWords(definition)
    if (words !== null) call.warn(words)
    call.deprecated = definition.deprecated ?? null
    const wanted = representationWanted(request.raw.headers.accept, verb, definition, query)
    // Apart from connections, only a watch can use a WebSocket; other verbs ignore the offer.
    const webSocket = verb === 'watch' ? webSocketOf(call, request, reply, dependencies) : null
    const verbRequest: VerbRequest = {
      definition,
      context: call,
      target,
      query,
      body: Buffer.isBuffer(request.body) ? request.body : NO_BODY,
      contentType: mediaTypeOf(request.raw.headers['content-type']),
      representation: wanted.representation,
      ...consistencyOf(request, verb),
      ...idempotencyKeyOf(request.raw.headers['idempotency-key'], verb),
    }
    const bytes = workOf(call, verbRequest, registry)
    const answer = await call.work(() =>
      isHeavy(bytes)
        ? heavy.run(heavyTask(call, bytes), () => handlers[verb](verbRequest))
        : handlers[verb](verbRequest),
    )
    if (answer.kind === 'watch' && webSocket !== null) {
      reply.hijack()
      answerWebSocket(
        paced(answer.stream, wanted, call, dependencies),
        call,
        { ...webSocket, ...wanted },
        dependencies,
      )
    } else send(answer, wanted, call, { request, reply, dependencies })
  }
}

/**
 * The response to a request with this header has the times of its admission, in `Server-Timing`.
 */
const TRACE_HEADER = 'orch-trace'
/** The permission for it is `get` on this path, like that for `/metrics`. */
const TRACE_PATH = '/debug/trace'

async function trace(call: Call, authorizer: Authorizer): Promise<void> {
  const action = { kind: 'path', path: TRACE_PATH, verb: 'get' } as const
  const { kind } = await authorizer.authorize(call.user, action)
  if (kind === 'allow') call.timing.trace()
  else call.warn(`${TRACE_HEADER} is ignored: it needs the permission to get ${TRACE_PATH}`)
}

/**
 * Returns the methods of a path of spec 4.1; null: no kind is served there.
 * @throws ApiError as for its requests
 */
export function resourceMethods(
  served: Catalog,
  { action, named, shape }: RequestInfo,
): readonly string[] | null {
  if (action.kind === 'path' || shape === 'odd') return null
  const definition = served.find(action.group, action.version, action.resource)
  if (definition === null) return null
  const target = targetOf(definition, action, named)
  return methodsOf(verbsAt(definition, target), target)
}

type Agreed = Omit<Parameters<typeof answerWebSocket>[2], keyof WantedObjects>

/**
 * @returns null: no WebSocket was requested
 * @throws ApiError for an invalid handshake
 */
function webSocketOf(
  call: Call,
  request: Request,
  reply: Reply,
  { upgradeOf }: DispatchDependencies,
): Agreed | null {
  const upgrade = upgradeOf(call.raw)
  if (call.webSocket === null || upgrade === null) return null
  reply.raw.setHeader('sec-websocket-version', '13')
  const accept = acceptWebSocket(request.method, call.raw.headers, call.authorization !== undefined)
  reply.raw.removeHeader('sec-websocket-version')
  return { upgrade, accept, protocol: call.webSocket.protocol }
}

/** Writes are decided by the log: the consistency header does not apply to them. */
function consistencyOf({ raw }: Request, verb: Verb): { readonly consistency?: string } {
  const header = raw.headers['orch-consistency']
  if (header === undefined || !(verb === 'get' || verb === 'list' || verb === 'watch')) return {}
  return { consistency: typeof header === 'string' ? header : header.join(', ') }
}

/**
 * Estimates the memory, and so the time, that evaluating a request takes, in bytes: of its body,
 * and of the object that it is about. The object is skipped where it cannot make the request heavy.
 */
function workOf(
  call: Call,
  { definition, target, representation = STORED_FORM }: VerbRequest,
  { storedBytes }: Registry,
): number {
  const isRead = call.info.action.verb === 'get' && isStoredForm(representation)
  const stored = isRead || target.name === null ? null : (storedBytes?.(definition, target) ?? null)
  if (stored === null || !isHeavy(call.bodyMemoryBytes + jsonMemoryBytesMax(stored))) {
    return call.bodyMemoryBytes
  }
  // Certainly large, so its content need not be inspected.
  const isLarge = stored.byteLength > limits.heavyWorkBytesMin / 4
  return call.bodyMemoryBytes + (isLarge ? stored.byteLength * STORED_FACTOR : bodyMemoryBytes(stored, ''))
}

/** Memory of an object with ordinary members, relative to its text. */
const STORED_FACTOR = 16

function heavyTask(call: Call, bytes: number): HeavyTask {
  const deadlineMs = Math.min(call.deadlineMs, call.nowMs() + limits.heavyWaitMsMax)
  return { user: call.user.name, bytes, deadlineMs }
}

const NO_BODY = new Uint8Array(0)

/**
 * Returns whether a custom kind has this path. False may be outdated: the definition of the kind
 * may have changed. True for built-in kinds, whose paths are checked later.
 */
function hasPath(
  { custom, scope, subresources }: ResourceDefinition,
  { action, named }: RequestInfo,
): boolean {
  if (custom === undefined || action.kind === 'path') return true
  const { namespace, subresource, verb } = action
  const isAcross = !named && (verb === 'list' || verb === 'watch')
  const inScope = scope === 'Namespaced' ? namespace !== '' || isAcross : namespace === ''
  return inScope && (subresource === '' || subresources.some(({ name }) => name === subresource))
}

/** @throws ApiError `NotFound` where the path is not served, `BadRequest` for invalid names */
function targetOf(definition: ResourceDefinition, action: ResourceAction, named: boolean): Target {
  const namespaced = definition.scope === 'Namespaced'
  // The path of a namespace counts as within it for authorization; the object has no namespace.
  const inNamespace = action.namespace !== '' && action.resource !== 'namespaces'
  if (inNamespace && !namespaced) throw pathNotFound()
  // A name from a field selector is left to the verb.
  const name = named ? action.name : null
  if (name !== null && namespaced && action.namespace === '') throw pathNotFound()
  for (const [what, part] of [
    ['Name', action.name],
    ['Namespace', action.namespace],
  ] as const) {
    if (!isPathSegment(part)) throw badRequest(`${what} parameter invalid: ${JSON.stringify(part)}`)
  }
  return {
    namespace: namespaced && action.namespace !== '' ? action.namespace : null,
    name,
    subresource: action.subresource === '' ? null : action.subresource,
  }
}

/** @throws ApiError `NotFound` for a subresource that the kind does not have */
function verbsAt(definition: ResourceDefinition, target: Target): readonly Verb[] {
  if (target.subresource !== null) {
    const subresource = definition.subresources.find(({ name }) => name === target.subresource)
    if (subresource === undefined || target.name === null) throw pathNotFound()
    return subresource.verbs
  }
  if (target.name !== null) return definition.verbs.filter((verb) => INSTANCE_VERBS.has(verb))
  const everywhere = definition.scope === 'Namespaced' && target.namespace === null
  return definition.verbs.filter((verb) => (everywhere ? ACROSS_VERBS : COLLECTION_VERBS).has(verb))
}

const INSTANCE_VERBS: ReadonlySet<Verb> = new Set(['get', 'update', 'patch', 'delete'])
const COLLECTION_VERBS: ReadonlySet<Verb> = new Set(['list', 'watch', 'create', 'deletecollection'])
/** The verbs for all namespaces at once. */
const ACROSS_VERBS: ReadonlySet<Verb> = new Set(['list', 'watch'])

const METHOD_OF = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
} as const satisfies Record<Verb, string>

function methodsOf(verbs: readonly Verb[], target: Target): readonly string[] {
  const methods = verbs.map((verb) => METHOD_OF[verb] as string)
  const reading = target.name === null ? verbs.includes('list') : verbs.includes('get')
  return [...new Set(reading ? [...methods, 'HEAD'] : methods)]
}

function isOneOf(verbs: readonly Verb[], verb: string): verb is Verb {
  return (verbs as readonly string[]).includes(verb)
}

function mediaTypeOf(header: string | undefined): string {
  if (header === undefined) return ''
  const semicolon = header.indexOf(';')
  return (semicolon === -1 ? header : header.slice(0, semicolon)).trim().toLowerCase()
}

type ResourceCall = {
  readonly request: Request
  readonly reply: Reply
  readonly dependencies: DispatchDependencies
}

function send(
  answer: VerbResponse,
  wanted: WantedObjects,
  call: Call,
  { request, reply, dependencies: parts }: ResourceCall,
): void {
  const { compressor } = parts
  const { contentType, representation } = wanted
  const { encoding } = representation
  const headers = { 'content-type': contentType }
  switch (answer.kind) {
    case 'document': {
      const bytes = laidOut(call, encoding, answer.bytes)
      if (answer.code === 200 && isCompressible(request, answer.bytes)) {
        answerPieces([bytes], call, request, reply, parts, { headers, compressor })
        return
      }
      reply.hijack()
      sendBytes(reply.raw, call, request.method, answer.code, baseHeaders(call, contentType), bytes)
      return
    }
    case 'pieces': {
      const made = isStoredForm(representation)
        ? answer.pieces
        : parts.heavy.pieces(call.user.name, answer.pieces, () => call.nowMs() + limits.requestMsMax)
      const pieces = laidOutPieces(call, encoding, made)
      answerPieces(pieces, call, request, reply, parts, { headers, compressor })
      return
    }
    case 'watch':
      answerWatch(paced(answer.stream, wanted, call, parts), call, { request, reply, contentType }, parts)
  }
}

/**
 * Schedules watches in YAML and as tables as heavy work, because those are the slowest to produce.
 */
function paced(
  stream: WatchStream,
  { representation: { as, encoding } }: WantedObjects,
  call: Call,
  { heavy }: DispatchDependencies,
): WatchStream {
  const isHeavy = encoding === 'yaml' || as === 'table'
  return isHeavy ? heavy.watch(call.user.name, stream, () => call.nowMs() + limits.requestMsMax) : stream
}

/**
 * Returns whether the response may be compressed, so that its content coding must be negotiated.
 */
function isCompressible(request: Request, bytes: Uint8Array): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  const header = request.raw.headers['accept-encoding']
  if (header === undefined) return false
  const { gzip, identity } = codingsOf(header)
  return !identity || (gzip && bytes.byteLength >= limits.compressedBytesMin)
}
