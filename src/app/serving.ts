import type { Registry as MetricsRegistry } from 'prom-client'
import type { Consensus, PeerCredentials } from '../../raft/index.ts'
import type { IssuerDocuments } from '../auth/service-accounts/issuer-documents.ts'
import { TrustStore, trustOf } from '../auth/trust-store.ts'
import type { SharedAuthorities } from '../key-ring/shared-authorities.ts'
import type { CaughtUp } from '../health/caught-up.ts'
import type { Health } from '../health/health.ts'
import { Members } from '../membership/members.ts'
import { WatchGuard } from '../health/watch-guard.ts'
import type { Config } from '../config/config.ts'
import { limits } from '../config/limits.ts'
import { tlsVersions } from '../config/tls-flags.ts'
import { heapBytesMax } from '../host/heap.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Registry } from '../registry/calls/verb.ts'
import { yieldToEventLoop } from '../registry/shared/yield-budget.ts'
import { openApiDocuments } from '../server/openapi/documents.ts'
import type { CertificatesBody } from '../server/routes/certificates.ts'
import { createServer } from '../server/server.ts'
import type { ApiServer } from '../server/server.ts'
import type { Outcome } from '../store/command.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { Store } from '../store/store.ts'
import { programVersion } from '../version.ts'
import { cannotServe } from '../data-dir/client-port.ts'
import { joinTokens } from '../membership/join-authentication.ts'
import { registerKeyFileMetrics } from '../metrics/certificate-metrics.ts'
import { KeyWatch } from '../pki/key-watch.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import { membershipServices } from './membership-services.ts'
import { authenticatorOf, proxyOptions, staleAccess } from './policy.ts'
import type { Access } from './policy.ts'
import { buildInfo } from '../build-info.ts'
import type { MemberContext } from './context.ts'
import type { OperatedAuthorities } from '../server/routes/signing-authorities.ts'
import type { OperatedKeys } from '../server/routes/signing-keys.ts'
import type { OperatedWebhooks } from '../server/routes/webhooks.ts'
import { MemberSnapshots } from '../server/routes/snapshot-provider.ts'
import type { StateWatch } from '../state-agreement/state-watch.ts'
import { applyKeys } from './apply-keys.ts'
import { backendsOf } from './backends.ts'

export type ServingDependencies = {
  /** The data directory. */
  readonly directory: string
  readonly store: Store
  readonly machine: StoreMachine
  readonly consensus: Consensus<Outcome>
  readonly registry: Registry
  readonly served: Catalog
  readonly health: Health
  readonly caughtUp: CaughtUp
  readonly metrics: MetricsRegistry
  readonly keys: MemberKeys
  /** Authorities that members share, for client certificates. */
  readonly authorities: Pick<SharedAuthorities, 'certificates' | 'onChange'>
  readonly access: Access
  readonly issuer: IssuerDocuments | null
  readonly signingKeys: OperatedKeys
  /** null: the signers use the files that flags name */
  readonly signingAuthorities: OperatedAuthorities | null
  readonly certificates: () => CertificatesBody
  readonly webhooks: OperatedWebhooks
  readonly audit: AuditTrail | null
  readonly watch: StateWatch
  /** See `RaftNode.renewPeerKeys`. */
  readonly renewPeerKeys: (credentials: PeerCredentials) => void
  /** See `KeyUsers`. */
  readonly onRenewedKeys: (keys: MemberKeys) => void
}

/**
 * Starts serving clients.
 * @returns the URL
 * @throws StartError `address`, or `usage` for an unusable file
 */
export async function serve(site: MemberContext, dependencies: ServingDependencies): Promise<string> {
  const { config, closing } = site
  let keysInForce = dependencies.keys
  const { authorities } = dependencies
  const trust = new TrustStore(trustOf(keysInForce, authorities.certificates))
  const replaceTrust = (): void => trust.replace(trustOf(keysInForce, authorities.certificates))
  authorities.onChange(replaceTrust)
  const server = await serverOf(site, dependencies, { trust, keysInForce: () => keysInForce })
  // Listeners run in the order in which they were added: callers are checked by the new trust.
  authorities.onChange(() => server.checkCallers())
  endStaleWatches(site, server, dependencies.caughtUp)
  closing.add(() =>
    server.drain({
      shutdownDelayMs: config['shutdown-delay-duration'],
      graceMs: config['shutdown-grace-duration'],
    }),
  )
  const address = await listen(server, config)
  const watch = new KeyWatch({ ...site, directory: dependencies.directory }, dependencies.keys, (keys) => {
    applyKeys(keys, { ...dependencies, trust, server })
    keysInForce = keys
  })
  registerKeyFileMetrics(dependencies.metrics, () => watch.isUpToDate)
  watch.start()
  closing.add(() => watch.close())
  return `https://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}

function serverOf(
  site: MemberContext,
  dependencies: ServingDependencies,
  { trust, keysInForce }: { readonly trust: TrustStore; readonly keysInForce: () => MemberKeys },
): Promise<ApiServer> {
  const { config, names, clock, random, log, onFatal } = site
  const { store, machine, consensus, registry, served, health, metrics, access, audit } = dependencies
  const { signingAuthorities } = dependencies
  const services = membershipServices(site, { ...dependencies, keys: keysInForce })
  return createServer({
    ...services,
    ...{ registry, served, names, clock, random, log, metrics, health, audit },
    issuer: dependencies.issuer,
    signingKeys: dependencies.signingKeys,
    ...(signingAuthorities === null ? {} : { signingAuthorities }),
    certificates: dependencies.certificates,
    webhooks: dependencies.webhooks,
    authenticator: authenticatorOf(config, {
      ...{ clock, access, trust },
      more: [joinTokens(services.joinService, clock)],
    }),
    authorizer: access.authorizer,
    accessVersion: access.version,
    isAccessStale: staleAccess({ consensus, store, clock }),
    members: new Members({
      ...{ consensus, health },
      state: () => ({
        index: machine.appliedMemory,
        digest: machine.quarantine === null ? machine.digest : null,
        featureLevel: store.featureLevel,
        quarantine: machine.quarantine?.cause ?? null,
      }),
    }),
    memberName: config.name,
    store,
    snapshots: new MemberSnapshots({
      ...{ consensus, machine, clock },
      clusterName: config['cluster-name'],
      barrier: (deadlineMs) => store.barrier(deadlineMs),
    }),
    openapi: openApiDocuments(
      { catalog: served, names, version: programVersion, turn: () => yieldToEventLoop(clock) },
      config['feature-gates'].isOn.OpenAPIV3,
    ),
    backends: backendsOf(site),
    userHeaders: userHeadersOf(config),
    version: buildInfo(),
    tls: dependencies.keys.server,
    tlsPolicy: { minVersion: tlsVersions[config['tls-min-version']], ciphers: config['tls-cipher-suites'] },
    protocols: config.http2 ? 'http2-and-http1' : 'http1',
    limits: {
      requestsReadingMax: config['max-requests-inflight'],
      requestsWritingMax: config['max-mutating-requests-inflight'],
      watchesMax: limits.watchesMax,
      backendStreamsMax: limits.backendStreamsMax,
      requestMsMax: config['request-timeout'],
      requestBytesMax: limits.requestBytesMax,
      uploadsMax: limits.uploadsMax,
      uploadGraceMs: limits.uploadGraceMs,
      bodyMemoryBytesMax: ofHeap(limits.bodyMemoryHeapShare, limits.bodyMemoryBytesMin),
      outgoingBytesMax: ofHeap(limits.outgoingHeapShare, limits.outgoingBytesMin),
    },
    crash: onFatal,
  })
}

/** Returns the prefixes of the headers that name users. Proxied requests must not contain them. */
function userHeadersOf(config: Config): readonly string[] {
  const { userHeaders, groupHeaders, extraPrefixes } = proxyOptions(config)
  return [
    'x-remote-',
    ...[...userHeaders, ...groupHeaders, ...extraPrefixes].map((name) => name.toLowerCase()),
  ]
}

/**
 * Returns a share of the maximum heap of this process. The data of clients gets only such shares,
 * so that most of the heap is left for everything else.
 */
function ofHeap(share: number, bytesMin: number): number {
  return Math.max(bytesMin, Math.floor(heapBytesMax() * share))
}

/** Ends the watches of a member without a quorum, because they would show stale state. */
function endStaleWatches({ clock, closing }: MemberContext, server: ApiServer, caughtUp: CaughtUp): void {
  const guard = new WatchGuard({
    clock,
    proofAgeMs: () => caughtUp.ageMs(),
    ageMsMax: limits.watchWithoutQuorumMsMax,
    endWatches: () => server.endWatches(),
  })
  guard.start()
  closing.add(() => guard.close())
}

async function listen(server: ApiServer, config: Config): ReturnType<ApiServer['listen']> {
  try {
    return await server.listen(config['bind-address'], config['secure-port'])
  } catch (cause) {
    throw cannotServe(cause)
  }
}
