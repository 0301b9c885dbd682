import { Registry as MetricsRegistry, collectDefaultMetrics } from 'prom-client'
import type { Consensus, LogIndex, StartedThreads } from '../raft/index.ts'
import { AdmissionMetrics } from './admission/admission-metrics.ts'
import { admissionObserver } from './admission/observer.ts'
import { namesOf } from './api/metadata/names.ts'
import { configuredAdmission } from './app/admission-configuration.ts'
import { AdmissionWebhooks } from './app/admission-webhooks.ts'
import { conversionWebhooks } from './app/conversion-webhooks.ts'
import { startEncryption } from './app/encryption.ts'
import { operatedWebhooks } from './app/operated-webhooks.ts'
import type { OperatedWebhooks } from './server/routes/webhooks.ts'
import { openAuditTrail } from './app/open-audit-trail.ts'
import { logCatchUp } from './membership/catch-up-log.ts'
import { componentHealth } from './membership/component-health.ts'
import { withClientPort } from './data-dir/client-port.ts'
import { ShutdownStack } from './app/shutdown-stack.ts'
import { ConsensusMetrics } from './metrics/consensus-metrics.ts'
import { defaultPolicy } from './auth/bootstrap/default-policy.ts'
import { policyObjects } from './auth/bootstrap/policy-objects.ts'
import type { PolicyObject } from './auth/bootstrap/policy-objects.ts'
import { Controllers } from './app/controllers/controllers.ts'
import { CustomKindSync } from './controllers/custom-kind-sync.ts'
import { MemberDisk } from './health/disk-check.ts'
import { checkIdentity } from './membership/check-identity.ts'
import { memberKeys } from './pki/member-keys.ts'
import type { CertificateRenewal } from './pki/renewal/certificate-renewal.ts'
import { limits } from './config/limits.ts'
import { EventLoopLag } from './metrics/event-loop-lag.ts'
import { registerLogMetrics } from './metrics/log-metrics.ts'
import { watchHealth } from './health/member-health.ts'
import { MemberChanges } from './membership/member-changes.ts'
import { WatchMetrics } from './metrics/watch-metrics.ts'
import { registerClusterMetrics } from './metrics/cluster-metrics.ts'
import { openDataDirectory } from './app/open-data-directory.ts'
import { ownIdentity } from './membership/own-identity.ts'
import { admissionOf } from './app/admission-plugins.ts'
import { accessOf, hasDefaultBindings, accessWarnings, reviewersFor } from './app/policy.ts'
import type { Access } from './app/policy.ts'
import { removal } from './membership/removal.ts'
import { CertificateInventory } from './app/certificate-inventory.ts'
import { certificateIssuing } from './app/certificate-issuing.ts'
import { certificateRenewal } from './app/certificate-renewal.ts'
import { startFounding } from './app/founding.ts'
import { startIdentityLease } from './app/identity-lease.ts'
import { openKeyRing } from './app/key-ring.ts'
import type { OpenedKeyRing } from './app/key-ring.ts'
import { needsPods, podInformer } from './app/pods.ts'
import { startThreads } from './app/consensus.ts'
import { openReplica } from './app/replica.ts'
import { sharesAuthority } from './app/signing-authorities.ts'
import { servedKinds } from './app/served-kinds.ts'
import { serve } from './app/serving.ts'
import { RootCa } from './app/root-ca.ts'
import { FileTokenKeys } from './app/file-token-keys.ts'
import { configuredServiceAccounts } from './app/service-accounts.ts'
import { logLeaderChanges } from './health/leader-log.ts'
import { storeLimits } from './app/context.ts'
import type { AppHost, MemberContext } from './app/context.ts'
import { TrustSource } from './app/trust-source.ts'
import { startUpkeep } from './app/upkeep.ts'
import { CaughtUp } from './health/caught-up.ts'
import { enabledPlugins } from './config/admission-plugins-flag.ts'
import type { Config } from './config/config.ts'
import { definitionsPrefix, knownDefinition } from './controllers/custom-definition-summary.ts'
import type { EncryptedStore } from './encryption/encrypted-store.ts'
import type { Admission } from './registry/calls/admission.ts'
import type { AccessReviewer } from './registry/kinds/access-reviewer.ts'
import { Catalog } from './registry/kinds/catalog.ts'
import type { ComponentHealth } from './registry/kinds/component-health.ts'
import type { PodSummary } from './controllers/pod-summary.ts'
import { Informer } from './registry/informer.ts'
import { registry as registryOf } from './registry/registry.ts'
import type { Registry } from './registry/calls/verb.ts'
import type { TokenIssuer } from './registry/kinds/token-issuer.ts'
import type { RegistrySwitches } from './registry/calls/query-options.ts'
import { customKinds } from './resources/crd/custom-kind.ts'
import { definitionsFor } from './resources/index.ts'
import { serviceRanges } from './resources/services/service-ranges.ts'
import type { ClusterIdentity, Outcome } from './store/command.ts'
import type { StoreMachine } from './store/store-machine.ts'
import { Store } from './store/store.ts'

export type { AppHost } from './app/context.ts'

/** Hooks for tests between two components; unset in production. */
export type AppSeams = {
  readonly consensus?: (real: Consensus<Outcome>) => Consensus<Outcome>
  readonly machine?: (machine: StoreMachine) => void
}

export type App = {
  /** The URL that clients use. */
  readonly url: string
  /** The admin kubeconfig of a member that made its own keys. */
  readonly kubeconfig: string | null
  /** Whether it made its keys at this start. */
  readonly madeKeys: boolean
  /** Resolves with one line for the operator when this member has been removed from its cluster. */
  readonly removed: Promise<string>
  /** Becomes unready, drains, transfers leadership and closes. Runs once. */
  readonly stop: () => Promise<void>
}

/**
 * Builds one member part by part; `stop` closes the parts in reverse order.
 *
 * @throws StartError, ConfigError, or the failure of the part that could not start; nothing
 * stays open
 */
export async function startApp(config: Config, host: AppHost, seams: AppSeams = {}): Promise<App> {
  const closing = new ShutdownStack()
  try {
    const workers = startThreads(config, closing)
    const names = namesOf(config['api-domain'])
    const directory = await openDataDirectory({ ...host, config, names, closing })
    const ground = { ...host, config: await withClientPort(config, directory), names, closing }
    const renewal = certificateRenewal(ground, directory)
    // A member may have been stopped for longer than its certificates are valid.
    renewal.check()
    const site = { ...ground, ...(await ownIdentity(ground, directory)) }
    return await build(site, { directory, renewal, workers }, seams)
  } catch (cause) {
    await closing.all()
    throw cause
  }
}

type Begun = {
  readonly directory: string
  readonly renewal: CertificateRenewal
  /** See `startThreads`. */
  readonly workers: StartedThreads | null
}

async function build(
  site: MemberContext,
  { directory, renewal, workers }: Begun,
  seams: AppSeams,
): Promise<App> {
  const { clock, log, onFatal, names, id, joined, closing } = site
  const metrics = new MetricsRegistry()
  const audit = await openAuditTrail(site, metrics)
  const keys = memberKeys(site, directory, joined === null ? 'maybe-alone' : 'among-others')
  const threads = new ConsensusMetrics()
  const opening = openReplica(site, {
    ...{ directory, keys, threads, workers },
    onMachine: (opened) => seams.machine?.(opened),
  })
  // Measured while the threads open the log.
  const disk = watchDisk(site, directory)
  const replica = await opening
  const { node, machine } = replica
  const consensus: Consensus<Outcome> = seams.consensus === undefined ? node : seams.consensus(node)
  const store = new Store({ consensus, machine, clock, limits: storeLimits })
  closing.add(() => store.close())
  const encryption = await startEncryption(site, { store, machine, node, directory }, metrics)
  const objects = encryption.store
  const watch = startUpkeep(site, { store, machine, consensus })
  replica.judgedBy(watch.guard)
  closing.add(logLeaderChanges({ consensus, clock, log }))
  const keyRing = openKeyRing(site, { directory, store, machine })
  const { ring, shared, authorities } = keyRing
  const fileKeys = new FileTokenKeys(site.config, keys)
  const serviceAccounts = configuredServiceAccounts(site, { store: objects, files: fileKeys, shared })
  const tokenKeys = [shared, fileKeys]
  const pods = podInformer({ names, store: objects, clock })
  const access = accessOf({ ...site, store: objects, serviceAccounts, tokenKeys, pods })
  const rootCa = new RootCa(site.config, keys)
  const trust = new TrustSource(site.config, keys, authorities)
  const inventory = new CertificateInventory(site, { directory, keys, renewal, authorities })
  const watches = new WatchMetrics({ clock, store })
  const caughtUp = new CaughtUp({ consensus, clock, heartbeatMs: site.config['heartbeat-interval'] })
  caughtUp.start()
  closing.add(() => caughtUp.close())
  const policy = policyObjects(names, defaultPolicy(names))
  const { catalog, served, registry, controllers, webhooks } = startRegistry(site, {
    store: objects,
    machine,
    consensus,
    access,
    pods,
    tokens: serviceAccounts.tokens,
    rootCa,
    trust,
    keyRing,
    watches,
    metrics,
    policy,
    components: () => componentHealth({ store: objects, names, checks: health.readyz }),
  })
  const { identity } = startFounding(site, { store: objects, consensus, keys, catalog, policy })
  startControllers(site, { controllers, pods }, identity)
  const health = watchHealth({
    ...{ clock, store, machine, consensus, watch, caughtUp },
    livezGraceMs: site.config['livez-grace-period'],
    foundingAwaits: () => node.foundingAwaits,
    hasDefaultPolicy: () => hasDefaultBindings(objects, names),
    kmsFailure: () => encryption.kmsFailure,
  })
  closing.add(() => health.close())
  // The event loop monitor of prom-client cannot be disabled, so it measures once an hour only.
  collectDefaultMetrics({ register: metrics, eventLoopMonitoringPrecision: 3_600_000 })
  const lag = new EventLoopLag(clock, { lookMs: limits.eventLoopLookMs, lagsMax: limits.eventLoopLagsMax })
  lag.register(metrics)
  lag.start()
  closing.add(() => lag.close())
  disk?.register(metrics)
  registerLogMetrics(metrics, site.output)
  threads.register(metrics)
  registerClusterMetrics(metrics, { consensus, node, store, machine, watch })
  controllers.register(metrics)
  watches.register(metrics)
  inventory.start(site, metrics)
  const url = await serve(site, {
    directory,
    ...{ store, machine, consensus, registry, served, health, caughtUp, metrics, keys, access, audit },
    watch,
    authorities,
    issuer: serviceAccounts.documents,
    signingKeys: ring,
    signingAuthorities: sharesAuthority(site.config) ? keyRing.authorityRing : null,
    certificates: () => inventory.body(),
    webhooks,
    renewPeerKeys: (credentials) => node.renewPeerKeys(credentials),
    onRenewedKeys: (renewed) => {
      rootCa.renew(renewed)
      trust.renew(renewed)
      fileKeys.renew(renewed)
      inventory.renew(renewed)
    },
  })
  startIdentityLease(site, { registry, catalog, health })
  renewal.start()
  closing.add(() => renewal.close())
  log.info({ url, id, domain: names.domain }, 'serving')
  if (joined !== null) {
    const { name } = site.config
    closing.add(logCatchUp({ ...{ consensus, clock, log, name, joined }, reports: watch.reports }))
  }
  void identity.then((founded) => {
    const refusal = checkIdentity(founded, {
      names,
      selfMade: keys.kubeconfig === null ? null : keys.fingerprints,
    })
    if (refusal !== null) onFatal(refusal)
  })
  let stopped: Promise<void> | null = null
  return {
    url,
    kubeconfig: keys.kubeconfig,
    madeKeys: keys.madeNow,
    removed: removal(site.config, consensus),
    stop: () => (stopped ??= closing.all()),
  }
}

/** Returns null for a member that stores nothing. */
function watchDisk({ clock, log, config, closing }: MemberContext, directory: string): MemberDisk | null {
  if (config['in-memory']) return null
  const disk = new MemberDisk(directory, { clock, log, electionMs: config['election-timeout'] })
  closing.add(() => disk.close())
  return disk
}

type RegistryOptions = {
  readonly store: EncryptedStore
  readonly machine: StoreMachine
  readonly consensus: Consensus<Outcome>
  readonly access: Access
  readonly pods: Informer<PodSummary>
  readonly tokens: TokenIssuer
  readonly rootCa: RootCa
  readonly trust: TrustSource
  readonly keyRing: OpenedKeyRing
  readonly watches: WatchMetrics
  readonly metrics: MetricsRegistry
  readonly policy: readonly PolicyObject[]
  readonly components: () => readonly ComponentHealth[]
}

type StartedRegistry = {
  readonly catalog: Catalog
  readonly served: Catalog
  readonly registry: Registry
  readonly controllers: Controllers
  readonly webhooks: OperatedWebhooks
}

/**
 * Starts the catalog of all kinds, also of those that are not served, and the registry of their
 * verbs. Builds the controllers of their objects.
 */
function startRegistry(site: MemberContext, options: RegistryOptions): StartedRegistry {
  const { clock, random, log, names, closing, config } = site
  const { store, machine, consensus, access, pods, tokens, rootCa, trust, keyRing, watches } = options
  const { ring, shared } = keyRing
  const ranges = serviceRanges(config['service-cluster-ip-range'], config['service-node-port-range'])
  const catalog = new Catalog(definitionsFor(names, ranges))
  const served = catalog.narrowed(servedKinds(catalog.builtIn(), config['runtime-config']))
  const { isOn, warnings } = config['feature-gates']
  for (const warning of [...warnings, ...accessWarnings(config)]) log.warn(warning)
  const switches: RegistrySwitches = {
    listChunking: isOn.APIListChunking,
    remainingItemCount: isOn.RemainingItemCount,
    fieldValidation: isOn.ServerSideFieldValidation,
  }
  const reviewers = reviewersFor(access)
  const converter = conversionWebhooks(site, { catalog, metrics: options.metrics })
  const { webhooks, admission } = startAdmission(site, options, { catalog, reviewers })
  const applied = (): LogIndex => machine.appliedMemory
  const prefix = definitionsPrefix(names)
  const definitions = new Informer({ store, clock, prefix, parse: knownDefinition })
  const custom = new CustomKindSync({ clock, log, names, catalog, definitions, kindsOf: customKinds })
  const membership = new MemberChanges({
    ...{ consensus, applied, clock, names },
    configuration: () => machine.configuration,
  })
  const registry = registryOf({
    ...{ store, clock, random, names, catalog, admission, membership, switches, reviewers, tokens },
    converter,
    isStale: (stored) => store.isStale(stored),
    encryption: {
      concerns: (stored) => store.concerns(stored),
      requireReadable: (stored) => store.requireReadable(stored),
    },
    observeWatch: (kind) => watches.begin(kind),
    components: options.components,
    definitionsApplied: () => custom.untilCurrent(),
  })
  webhooks.reportTo(registry)
  const operated = operatedWebhooks({ admission: webhooks, conversion: converter, catalog })
  const controllers = new Controllers({
    ...{ registry, store, consensus, clock, names, catalog, definitions, pods, log },
    kindsApplied: () => custom.untilCurrent(),
    members: () => machine.configuration.members.map((member) => member.id),
    policy: options.policy,
    ...{ tokens, rootCa, trust },
    onKeysChanged: (listener) => shared.onChange(listener),
    // A member with a signing key in a file does not maintain the keys that the members share.
    maintainKeys: config['service-account-signing-key-file'] === '' ? () => ring.maintain() : null,
    certificates: certificateIssuing(site, keyRing, reviewers),
    enabled: config.controllers,
    eventTtlMs: config['event-ttl'],
    endedPodsMax: config['terminated-pod-gc-threshold'],
    ranges,
  })
  custom.start()
  closing.add(() => {
    pods.close()
    custom.close()
  })
  return { catalog, served, registry, controllers, webhooks: operated }
}

/**
 * Starts the controllers once the cluster is founded: the founding stores objects that they would
 * create otherwise. The Pods are listed only then, because listeners are not notified of what was
 * listed before they subscribed.
 */
function startControllers(
  { config, closing }: MemberContext,
  { controllers, pods }: { readonly controllers: Controllers; readonly pods: Informer<PodSummary> },
  identity: Promise<ClusterIdentity>,
): void {
  let isClosed = false
  void identity.then(() => {
    if (isClosed) return
    controllers.start()
    if (needsPods(config)) pods.start()
  })
  closing.add(() => {
    isClosed = true
    controllers.stop()
  })
}

function startAdmission(
  site: MemberContext,
  { store, access, metrics: register }: RegistryOptions,
  { catalog, reviewers }: { readonly catalog: Catalog; readonly reviewers: AccessReviewer },
): { readonly webhooks: AdmissionWebhooks; readonly admission: Admission } {
  const { clock, random, names, closing, config } = site
  const metrics = new AdmissionMetrics(register)
  const { credentials, configurationOf } = configuredAdmission(site)
  const webhooks = new AdmissionWebhooks(site, { store, catalog, credentials, metrics })
  webhooks.register(register)
  closing.add(() => webhooks.close())
  const admission = admissionOf(
    {
      ...{ names, clock, random, reviewers, rules: access.rules, catalog },
      ...{ configurationOf, webhooks, observer: admissionObserver({ clock, metrics }) },
    },
    enabledPlugins(config),
  )
  return { webhooks, admission }
}
