import type { AddressInfo } from 'node:net'
import { limits as constants } from '../config/limits.ts'
import { Compressor } from './responses/compressor.ts'
import { Discovery } from './discovery/discovery.ts'
import { EVERY_METHOD, appOn, callOf } from './calls/fastify-types.ts'
import type { App } from './calls/fastify-types.ts'
import { HeavyWork } from './load/heavy-work.ts'
import { InFlight, deadline, beginCalls } from './plugins/in-flight.ts'
import { KindSeries } from './metrics/kind-series.ts'
import { Listener } from './listener.ts'
import { NoRoute } from './responses/no-route.ts'
import { OutgoingBytes } from './load/outgoing-bytes.ts'
import type { ServerDependencies } from './parts.ts'
import { auditCalls, auditKnownCallers } from './plugins/audit.ts'
import { authentication, authorization, crossSiteWrites, impersonation } from './plugins/access-control.ts'
import { bodies } from './plugins/bodies.ts'
import { errors } from './plugins/errors.ts'
import { RequestSlots, flowControl } from './plugins/flow-control.ts'
import { AuthenticationMetrics } from './metrics/authentication-metrics.ts'
import { RequestMetrics } from './metrics/request-metrics.ts'
import type { InFlightCounts } from './metrics/request-metrics.ts'
import { counter } from '../metrics/gauges.ts'
import { registerBuildInfo } from '../metrics/build-info-metric.ts'
import { Revocation } from './revocation.ts'
import { clusterRoutes } from './routes/cluster.ts'
import { discoveryRoutes } from './routes/discovery.ts'
import { healthRoutes } from './routes/health.ts'
import { ISSUER_PATHS, issuerRoutes } from './routes/issuer.ts'
import { membershipRoutes } from './routes/membership.ts'
import { metricsRoutes } from './routes/metrics.ts'
import { openApiRoutes } from './routes/openapi.ts'
import { resourceMethods, resourceRoutes } from './routes/resources.ts'
import { settingsRoutes } from './routes/settings.ts'
import { CERTIFICATES_PATH, certificatesRoutes } from './routes/certificates.ts'
import { SIGNING_AUTHORITIES_PATH, signingAuthoritiesRoutes } from './routes/signing-authorities.ts'
import { SIGNING_KEYS_PATH, signingKeysRoutes } from './routes/signing-keys.ts'
import { WEBHOOKS_PATH, webhooksRoutes } from './routes/webhooks.ts'
import { snapshotRoute } from './routes/snapshot.ts'
import { rootRoutes } from './routes/root.ts'
import { versionDocument, versionRoutes } from './routes/version.ts'
import type { ServerLimits } from './load/server-limits.ts'
import type { TlsFiles } from './http/tls-policy.ts'
import { answerError } from './responses/error-reply.ts'

/**
 * Builds the HTTP server of one member from its parts. The hooks of a request run in the order in
 * which they are added here.
 */
export async function createServer(dependencies: ServerDependencies): Promise<ApiServer> {
  const { registry, served, limits, clock } = dependencies
  const slots = new RequestSlots(limits)
  const series = new KindSeries(served)
  const outgoing = outgoingBytes(limits)
  const metrics = new RequestMetrics(dependencies.metrics, series, () => countsOf(slots, outgoing))
  registerBuildInfo(dependencies.metrics, versionDocument(dependencies.version))
  const inFlight = new InFlight(clock, metrics, outgoing)
  const listener = new Listener(dependencies)
  const words = 'Connections whose TLS handshake failed.'
  counter(dependencies.metrics, 'apiserver_tls_handshake_errors', words, () => listener.handshakeErrors)
  const discovery = new Discovery(served, dependencies.names)
  const noRoute = new NoRoute({
    resourceMethods: (info) => resourceMethods(served, info),
    isDiscovery: (path) => discovery.plain(path) !== null,
  })
  const { log, crash } = dependencies
  const errorParts = { log, requestBytesMax: limits.requestBytesMax, crash, noRoute }

  const app = appOn((handler) => listener.handle(handler, () => noRoute.refusal(null)), {
    // Names go to 253 characters; the router's default refuses more than 100.
    routerOptions: { maxParamLength: 1024, querystringParser: () => NO_QUERY },
    bodyLimit: limits.requestBytesMax,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => listener.refuse(error, socket),
    frameworkErrors: (error, request, reply) => answerError(error, request, reply, errorParts),
  })

  app.addHook('onRoute', (route) => noRoute.note(route))
  errors(app, errorParts)
  beginCalls(app, {
    clock,
    random: dependencies.random,
    inFlight,
    requestMsMax: limits.requestMsMax,
    member: dependencies.memberName,
    domain: dependencies.names.domain,
  })
  const trail = dependencies.audit ?? null
  if (trail !== null) auditCalls(app, { trail, clock, names: dependencies.names })
  authentication(app, dependencies.authenticator, {
    metrics: new AuthenticationMetrics(dependencies.metrics),
    clock,
  })
  if (trail !== null) auditKnownCallers(app)
  impersonation(app, dependencies.authorizer, dependencies.names)
  crossSiteWrites(app)
  authorization(app, dependencies)
  bodies(app, limits.requestBytesMax)
  // Probes must be answered however busy the server is.
  healthRoutes(app, dependencies)

  await app.register(async (scope: App) => {
    flowControl(scope, slots, limits, metrics)
    deadline(scope)
    versionRoutes(scope, dependencies.version)
    metricsRoutes(scope, dependencies.metrics)
    clusterRoutes(scope, dependencies.members)
    membershipRoutes(scope, dependencies)
    settingsRoutes(scope, dependencies)
    signingKeysRoutes(scope, dependencies)
    signingAuthoritiesRoutes(scope, dependencies)
    webhooksRoutes(scope, dependencies)
    certificatesRoutes(scope, dependencies)
    snapshotRoute(scope, { ...errorParts, states: dependencies.snapshots })
    openApiRoutes(scope, dependencies.openapi, registry.catalogSync)
    discoveryRoutes(scope, { discovery, catalogSync: registry.catalogSync })
    resourceRoutes(scope, {
      registry,
      served,
      compressor: new Compressor(),
      heavy: new HeavyWork(clock),
      authorizer: dependencies.authorizer,
      upgradeOf: (raw) => listener.upgradeOf(raw),
      connecting: {
        ...{ backends: dependencies.backends, clock, random: dependencies.random },
        ...{
          domain: dependencies.names.domain,
          userHeaders: dependencies.userHeaders ?? DEFAULT_USER_HEADERS,
        },
      },
      ...errorParts,
    })
    const issuer = dependencies.issuer ?? null
    issuerRoutes(scope, issuer)
    const fixed = FIXED_PATHS.filter((path) => path !== '/openapi/v3' || dependencies.openapi.v3 !== null)
    const ofIssuer = issuer === null ? [] : ISSUER_PATHS
    const ofKeys = dependencies.signingKeys === undefined ? [] : [SIGNING_KEYS_PATH]
    const ofAuthorities = dependencies.signingAuthorities === undefined ? [] : [SIGNING_AUTHORITIES_PATH]
    const ofCertificates = dependencies.certificates === undefined ? [] : [CERTIFICATES_PATH]
    const ofWebhooks = dependencies.webhooks === undefined ? [] : [WEBHOOKS_PATH]
    const ofOperators = [...ofKeys, ...ofAuthorities, ...ofCertificates, ...ofWebhooks]
    rootRoutes(scope, () => [...fixed, ...ofOperators, ...ofIssuer, ...discovery.paths()])
    everythingElse(scope, noRoute)
  })
  await app.ready()
  return new ApiServer(app, listener, inFlight, dependencies)
}

function outgoingBytes({ outgoingBytesMax }: ServerLimits): OutgoingBytes {
  const { outgoingPerUserShare, outgoingPerConnectionBytesMax, slowClientMsMin } = constants
  return new OutgoingBytes({
    bytesMax: outgoingBytesMax,
    perUserMax: outgoingBytesMax * outgoingPerUserShare,
    perConnectionMax: outgoingPerConnectionBytesMax,
    slowMsMin: slowClientMsMin,
  })
}

function countsOf(slots: RequestSlots, outgoing: OutgoingBytes): InFlightCounts {
  const { reading, writing, watching, uploading, bodyBytes } = slots
  const { bytes: outgoingBytes, cutOff } = outgoing
  return { reading, writing, watching, uploading, bodyBytes, outgoingBytes, cutOff }
}

/** The usual headers of authenticating proxies. */
const DEFAULT_USER_HEADERS = ['x-remote-']

const NO_QUERY = Object.freeze({})

const FIXED_PATHS = [
  ...['/healthz', '/livez', '/readyz', '/metrics', '/version', '/openapi/v2', '/openapi/v3'],
  ...['/cluster/v1/status', '/cluster/v1/transfer-leader', '/cluster/v1/settings'],
  ...['/cluster/v1/snapshot', '/cluster/v1/join-tokens', '/cluster/v1/join', '/cluster/v1/members'],
]

/**
 * Serves unknown paths with 404, and known ones with another method, such as `OPTIONS`, with 405.
 */
function everythingElse(app: App, noRoute: NoRoute): void {
  app.route({
    method: EVERY_METHOD,
    url: '/*',
    handler: (request) => {
      throw noRoute.refusal(callOf(request).info, request.url)
    },
  })
}

/** A server that listens, or is about to. */
export class ApiServer {
  readonly #app: App
  readonly #listener: Listener
  readonly #inFlight: InFlight
  readonly #revocation: Revocation
  readonly #dependencies: ServerDependencies
  #drained: Promise<void> | null = null

  constructor(app: App, listener: Listener, inFlight: InFlight, dependencies: ServerDependencies) {
    this.#app = app
    this.#listener = listener
    this.#inFlight = inFlight
    this.#dependencies = dependencies
    this.#revocation = new Revocation({ ...dependencies, calls: () => inFlight.calls })
  }

  /** For tests: `inject` sends requests without a socket. */
  get app(): App {
    return this.#app
  }

  /**
   * @returns the address
   * @param port 0: any free one
   */
  async listen(host: string, port: number): Promise<AddressInfo> {
    await this.#app.listen({ host, port })
    const address = this.#listener.server.address()
    if (address === null || typeof address === 'string')
      throw new TypeError('the server does not listen on a network address')
    return address
  }

  /**
   * Replaces the certificate and the key for new connections. Ends watches and other streams whose
   * callers are no longer authenticated or permitted, such as after a change of the authorities of
   * client certificates.
   */
  reload(tls: TlsFiles): void {
    this.#listener.reload(tls)
    this.checkCallers()
  }

  /** Ends watches and other streams whose callers are no longer authenticated or permitted. */
  checkCallers(): void {
    this.#revocation.check()
  }

  /**
   * Ends every stream of this member, so that clients of watches use a member with contact to a
   * quorum.
   */
  endWatches(): void {
    this.#inFlight.endStreams()
  }

  /**
   * Shuts down gracefully: is unready for `shutdownDelayMs` while it still serves, then accepts no
   * new connections, ends streams, waits for calls for up to `graceMs`, and closes. Runs once.
   */
  drain(of: { readonly shutdownDelayMs: number; readonly graceMs: number }): Promise<void> {
    this.#drained ??= this.#drain(of.shutdownDelayMs, of.graceMs)
    return this.#drained
  }

  async #drain(shutdownDelayMs: number, graceMs: number): Promise<void> {
    const { health, clock } = this.#dependencies
    health.shutDown()
    if (shutdownDelayMs > 0) await this.#wait(shutdownDelayMs)
    this.#inFlight.drain()
    this.#listener.stopAccepting()
    await new Promise<void>((resolve) => {
      const timer = clock.after(graceMs, resolve)
      void this.#inFlight.empty().then(() => {
        timer.cancel()
        resolve()
      })
    })
    // A call ends when its response was handed to the operating system. Responses of calls that are
    // left may be complete, but still in the buffers of this process.
    await this.#wait(this.#inFlight.count === 0 ? 0 : LAST_RESPONSES_MS)
    this.#listener.destroy()
    this.#inFlight.close()
    this.#revocation.close()
    await this.#app.close()
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#dependencies.clock.after(delayMs, resolve)
    })
  }
}

const LAST_RESPONSES_MS = 50
