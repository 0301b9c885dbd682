import type { Logger } from 'pino'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Clock } from '../../base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import { objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { missingRules } from '../auth/missing-rules.ts'
import type { ControllerName } from '../config/controllers-flag.ts'
import { limits } from '../config/limits.ts'
import { accountSecrets } from '../controllers/account-secrets.ts'
import { clusterRoleAggregation } from '../controllers/cluster-role-aggregation.ts'
import { customDefinitionDeletion } from '../controllers/custom-definition-deletion.ts'
import { customDefinitionNames } from '../controllers/custom-definition-names.ts'
import { takenNames } from '../controllers/custom-definition-claims.ts'
import type { KnownDefinition } from '../controllers/custom-definition-summary.ts'
import { defaultAccounts } from '../controllers/default-accounts.ts'
import { defaultPolicyController } from '../controllers/default-policy.ts'
import type { ExpectedObject, PolicyWrites } from '../controllers/default-policy.ts'
import type { ObjectExpiry } from '../controllers/object-expiry.ts'
import { garbageCollection } from '../controllers/garbage-collection.ts'
import { namespaceDeletion } from '../controllers/namespace-deletion.ts'
import { podGarbageCollection } from '../controllers/pod-garbage-collection.ts'
import { PodIndex, claimOf, releasedClaims } from '../controllers/pod-index.ts'
import type { PodSummary } from '../controllers/pod-summary.ts'
import { resourceQuotaController } from '../controllers/resource-quota.ts'
import { rootCaPublisher } from '../controllers/root-ca.ts'
import { needsProtectionStep, storageProtection } from '../controllers/storage-protection.ts'
import type { StorageProtectionDependencies } from '../controllers/storage-protection.ts'
import { systemPriorities } from '../controllers/system-priorities.ts'
import { readTokenSecret } from '../controllers/token-secret.ts'
import { signingKeys } from '../controllers/signing-keys.ts'
import { tokenSecrets } from '../controllers/token-secrets.ts'
import type { Registry } from '../registry/calls/verb.ts'
import type { TokenIssuer } from '../registry/kinds/token-issuer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { protectionFinalizer } from '../registry/kinds/protection-finalizer.ts'
import type { ProtectedKind } from '../registry/kinds/protection-finalizer.ts'
import { Informer } from '../registry/informer.ts'
import { LocalClient } from '../registry/local-client.ts'
import type { Outcome } from '../store/command.ts'
import { partsOf, prefixOf } from '../store/key.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { counter } from '../metrics/gauges.ts'
import { WorkQueueMetrics } from '../metrics/work-queue-metrics.ts'
import { startBootstrap } from './bootstrap-controllers.ts'
import { startCertificates } from './certificate-controllers.ts'
import type { CertificateIssuing, SwitchedWork } from './certificate-controllers.ts'
import { controllerUser, serverUser } from './controller-user.ts'
import { eventExpiry, recordExpiry } from './expiry.ts'
import { working } from './leading.ts'
import { accountQueue, queueNames } from './queue-names.ts'

export type ControllersDependencies = {
  readonly registry: Registry
  readonly store: ObjectStore
  readonly consensus: Consensus<Outcome>
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  /** The definitions of custom kinds; the owner starts the informer. */
  readonly definitions: Informer<KnownDefinition>
  /** Waits until the catalog has the kinds of all definitions that this member has applied. */
  readonly kindsApplied: () => Promise<void>
  /** All Pods; the owner starts the informer later, and closes it. */
  readonly pods: Informer<PodSummary>
  /** The roles and bindings that the cluster always has. */
  readonly policy: readonly ExpectedObject[]
  readonly tokens: TokenIssuer
  readonly rootCa: RootCaSource
  /** Calls the listener when a key of tokens may have been revoked. */
  readonly onKeysChanged: (listener: () => void) => void
  /** Takes the next step for the signing keys. null: keys of files sign */
  readonly maintainKeys: (() => Promise<boolean>) | null
  readonly certificates: CertificateIssuing
  readonly log: Logger
  /** The controllers to run. What has no name there always runs. */
  readonly enabled: ReadonlySet<ControllerName>
  /** 0: events never expire. */
  readonly eventTtlMs: number
  /** Maximum number of ended Pods to keep. 0: no limit. */
  readonly endedPodsMax: number
}

/** The CA certificates that verify the servers, which may change while the server runs. */
export interface RootCaSource {
  /** In PEM. null: not known */
  readonly pem: string | null
  /** Calls the listener after a change. */
  onChange(listener: () => void): void
}

const callMsMax = 30_000
/** Runs the controllers on the leader. */
export class Controllers {
  readonly #dependencies: ControllersDependencies
  /** null: events never expire. */
  readonly #expiry: ObjectExpiry | null
  /** Expires the records of idempotency keys. */
  readonly #recordExpiry: ObjectExpiry
  readonly #queues = new WorkQueueMetrics()
  /** The informer of the garbage collector. null: it is disabled. */
  #collected: { readonly failures: number } | null = null
  #stops: (() => void)[] = []
  #isPolicyLogged = false

  constructor(dependencies: ControllersDependencies) {
    this.#dependencies = dependencies
    this.#expiry = eventExpiry(dependencies)
    this.#recordExpiry = recordExpiry(dependencies)
  }

  register(metrics: MetricsRegistry): void {
    const words = 'Event objects that this member deleted because they expired.'
    counter(metrics, 'orch_events_expired', words, () => this.#expiry?.expired)
    const failures = 'How often the garbage collector could not follow the stored objects; it tries again.'
    const name = 'garbagecollector_controller_resources_sync_error'
    counter(metrics, name, failures, () => this.#collected?.failures)
    this.#queues.register(metrics)
  }

  start(): void {
    this.#stops = [
      ...this.#startExpiry(this.#expiry),
      ...this.#startExpiry(this.#recordExpiry),
      ...this.#startDeletion(),
      ...this.#startGarbageCollection(),
      ...this.#startDefinitions(),
      ...this.#startPolicy(),
      ...this.#startKeys(),
      ...this.#startAccounts(),
      ...this.#startPods(),
      ...this.#startVolumes(),
      ...this.#startQuotas(),
      ...this.#startCertificates(),
    ]
  }

  stop(): void {
    for (const stop of this.#stops.reverse()) stop()
    this.#stops = []
  }

  #startExpiry(expiry: ObjectExpiry | null): readonly (() => void)[] {
    if (expiry === null) return []
    expiry.start()
    const work = { start: () => expiry.lead(), stop: () => expiry.follow() }
    return [() => expiry.close(), working(this.#dependencies.consensus, work)]
  }

  #startDeletion(): readonly (() => void)[] {
    const { clock, names, catalog, log } = this.#dependencies
    const client = this.#clientOf('namespace')
    const namespaces = this.#informer('namespaces', parseStored)
    const deletion = namespaceDeletion({
      ...{ clock, names, catalog, client, namespaces },
      onError: (key, cause) => log.warn({ namespace: key, err: cause }, 'namespace not emptied yet'),
    })
    namespaces.start()
    return [() => namespaces.close(), ...this.#switched('namespace', deletion)]
  }

  #startGarbageCollection(): readonly (() => void)[] {
    const { store, clock, catalog, kindsApplied, enabled, log } = this.#dependencies
    // The informer follows all objects, so it only runs if the controller is enabled.
    if (!enabled.has('garbagecollector')) return []
    const { controller, informer } = garbageCollection({
      ...{ store, clock, catalog, kindsApplied, timeoutMs: callMsMax },
      client: this.#clientOf('garbagecollector'),
      onError: (key, cause) => log.warn({ key, err: cause }, 'dependents or owner not processed yet'),
    })
    this.#collected = informer
    informer.start()
    return [() => informer.close(), ...this.#switched('garbagecollector', controller)]
  }

  /** Starts the controllers that follow the Pods. */
  #startPods(): readonly (() => void)[] {
    const { store, clock, catalog, pods, enabled, endedPodsMax: endedMax, log } = this.#dependencies
    if (!enabled.has('podgc') && !enabled.has('pvc-protection')) return []
    const index = new PodIndex()
    pods.subscribe(({ key, previous, ...change }) =>
      index.change(key, previous, change.kind === 'set' ? change.value : null),
    )
    const nodes = this.#informer('nodes', () => true as const)
    const untilCurrent = async (): Promise<void> => {
      await store.barrier(clock.monotonicMs() + callMsMax)
      await Promise.all([pods.takeIn(), nodes.takeIn()])
    }
    const collecting = podGarbageCollection({
      ...{ clock, catalog, pods, index, nodes, untilCurrent, endedMax },
      client: this.#clientOf('podgc'),
      onError: (key, cause) => log.warn({ key, err: cause }, 'Pods not deleted yet'),
    })
    const claims = this.#protected('persistentvolumeclaims')
    const protecting = storageProtection({
      ...{ clock, catalog, ...claims },
      client: this.#clientOf('pvc-protection'),
      isInUse: async (key) => {
        await untilCurrent()
        return index.isUsed(claimOf(key))
      },
      onReleased: (listener) => pods.subscribe((change) => releasedClaims(index, change).forEach(listener)),
      onError: (key, cause) => log.warn({ key, err: cause }, 'claim not released yet'),
    })
    const informers = [nodes, claims.objects]
    for (const informer of informers) informer.start()
    return [
      ...informers.map((informer) => () => informer.close()),
      ...this.#switched('podgc', collecting),
      ...this.#switched('pvc-protection', protecting),
    ]
  }

  #startVolumes(): readonly (() => void)[] {
    const { clock, catalog, enabled, log } = this.#dependencies
    if (!enabled.has('pv-protection')) return []
    const volumes = this.#protected('persistentvolumes')
    const protecting = storageProtection({
      ...{ clock, catalog, ...volumes },
      client: this.#clientOf('pv-protection'),
      isInUse: async (_, volume) => textMember(objectMember(volume, 'status'), 'phase') === 'Bound',
      onError: (key, cause) => log.warn({ key, err: cause }, 'volume not released yet'),
    })
    volumes.objects.start()
    return [() => volumes.objects.close(), ...this.#switched('pv-protection', protecting)]
  }

  #startQuotas(): readonly (() => void)[] {
    const { store, clock, names, catalog, enabled, log } = this.#dependencies
    // The informer follows all objects, so it only runs if the controller is enabled.
    if (!enabled.has('resourcequota')) return []
    const { controller, informer, close } = resourceQuotaController({
      ...{ store, clock, names, catalog, client: this.#clientOf('resourcequota') },
      onError: (namespace, cause) => log.warn({ namespace, err: cause }, 'usage of quotas not counted yet'),
    })
    informer.start()
    return [close, ...this.#switched('resourcequota', controller)]
  }

  #protected(plural: ProtectedKind): Pick<StorageProtectionDependencies, 'plural' | 'finalizer' | 'objects'> {
    const finalizer = protectionFinalizer(this.#dependencies.names, plural)
    const objects = this.#informer(plural, (stored) => needsProtectionStep(finalizer, stored))
    return { plural, finalizer, objects }
  }

  /** Follows all objects of a kind of the core group. The caller starts and closes it. */
  #informer<T>(plural: string, parse: (stored: StoredObject) => T): Informer<T> {
    const { store, clock } = this.#dependencies
    return new Informer({ store, clock, parse, prefix: prefixOf({ group: '', plural, namespace: null }) })
  }

  #startDefinitions(): readonly (() => void)[] {
    const { store, consensus, clock, names, catalog, definitions, log } = this.#dependencies
    const client = this.#client(serverUser())
    const parts = { clock, names, catalog, client, definitions }
    const accepting = customDefinitionNames({
      ...parts,
      store,
      taken: (group) => takenNames(catalog.builtIn(), group),
      establishedMax: limits.customDefinitionsMax,
      onError: (group, cause) => log.warn({ group, err: cause }, 'names of definitions not accepted yet'),
    })
    const deletion = customDefinitionDeletion({
      ...parts,
      onError: (name, cause) => log.warn({ definition: name, err: cause }, 'definition not emptied yet'),
    })
    this.#queues.add('crd_naming_condition_controller', accepting.queue)
    this.#queues.add('crd_finalizer', deletion.queue)
    return [working(consensus, accepting), working(consensus, deletion)]
  }

  #startPolicy(): readonly (() => void)[] {
    const { store, consensus, clock, names, catalog, policy, log } = this.#dependencies
    const clusterRoles = new Informer({
      ...{ store, clock, parse: parseStored },
      prefix: prefixOf({ group: names.group('rbac.authorization'), plural: 'clusterroles', namespace: null }),
    })
    const parts = { clock, names, catalog }
    const aggregation = clusterRoleAggregation({
      ...{ ...parts, client: this.#clientOf('clusterrole-aggregation'), clusterRoles },
      onError: (name, cause) => log.warn({ clusterRole: name, err: cause }, 'role not aggregated yet'),
    })
    const defaults = defaultPolicyController({
      ...{ ...parts, client: this.#client(serverUser()), store, missingRules, expected: policy },
      onReconciled: (writes) => this.#logReconciled(writes),
      onError: (name, cause) => log.warn({ name, err: cause }, 'default role or binding not stored yet'),
    })
    this.#queues.add('default_policy', defaults.queue)
    const priorities = systemPriorities({
      ...{ ...parts, client: this.#client(serverUser()) },
      onError: (name, cause) => log.warn({ name, err: cause }, 'priority class not stored yet'),
    })
    this.#queues.add('system_priority_classes', priorities.queue)
    clusterRoles.start()
    return [
      () => clusterRoles.close(),
      working(consensus, priorities),
      ...this.#switched('clusterrole-aggregation', aggregation),
      working(consensus, defaults),
    ]
  }

  #startKeys(): readonly (() => void)[] {
    const { consensus, clock, maintainKeys, certificates, log } = this.#dependencies
    const onError = (cause: unknown): void => log.warn({ err: cause }, 'signing keys not maintained yet')
    return [maintainKeys, certificates.maintain].flatMap((maintain) => {
      if (maintain === null) return []
      const work = signingKeys({ clock, periodMs: limits.keyRingCheckMs, maintain, onError })
      return [working(consensus, work)]
    })
  }

  /** Starts the controllers of service accounts and of their tokens. */
  #startAccounts(): readonly (() => void)[] {
    const { store, clock, names, catalog, tokens, onKeysChanged, rootCa, log } = this.#dependencies
    const kind = { names, rootCa: () => rootCa.pem }
    const secrets = this.#informer('secrets', (stored) => readTokenSecret(kind, stored))
    const accounts = this.#informer('serviceaccounts', ({ uid }) => uid)
    const namespaces = this.#informer('namespaces', ({ terminating }) => !terminating)
    const published = new Informer({
      ...{ store, clock, prefix: prefixOf({ group: '', plural: 'configmaps', namespace: null }) },
      keeps: ({ key }) => partsOf(key).name === names.rootCaConfigMap,
      parse: (stored) => textMember(objectMember(parseStored(stored), 'data'), names.rootCaKey),
    })
    const parts = { clock, catalog, accounts }
    const filling = tokenSecrets({
      ...{ ...parts, ...kind, tokens, onKeysChanged, secrets },
      client: this.#clientOf('serviceaccount-token'),
      onError: (key, cause) => log.warn({ key, err: cause }, 'token Secret not filled yet'),
    })
    const keeping = defaultAccounts({
      ...{ ...parts, client: this.#clientOf('serviceaccount'), namespaces },
      onError: (name, cause) => log.warn({ namespace: name, err: cause }, 'no default account yet'),
    })
    const publishing = rootCaPublisher({
      ...{ ...parts, names, namespaces, published, rootCa: kind.rootCa },
      client: this.#clientOf('root-ca-cert-publisher'),
      onRootCaChanged: (listener) => rootCa.onChange(listener),
      onError: (name, cause) => log.warn({ namespace: name, err: cause }, 'root CA not published yet'),
    })
    const informers = [secrets, accounts, namespaces, published]
    for (const informer of informers) informer.start()
    const closes = informers.map((informer) => () => informer.close())
    const creating = accountSecrets({
      ...{ ...parts, names, secrets },
      client: this.#clientOf('serviceaccount-token'),
      onError: (key, cause) => log.warn({ key, err: cause }, 'token Secret not created yet'),
    })
    return [
      ...closes,
      ...this.#switched('serviceaccount-token', filling),
      ...(names.keepsTokenSecrets ? this.#switched('serviceaccount-token', creating, accountQueue) : []),
      ...this.#switched('serviceaccount', keeping),
      ...this.#switched('root-ca-cert-publisher', publishing),
    ]
  }

  /** Starts the controllers of certificates and of the tokens with which nodes join. */
  #startCertificates(): readonly (() => void)[] {
    const of = {
      ...{ ...this.#dependencies, ...this.#dependencies.certificates },
      clientOf: (name: ControllerName) => this.#clientOf(name),
      switched: (name: ControllerName, work: SwitchedWork) => this.#switched(name, work),
    }
    return [...startCertificates(of), ...startBootstrap(of)]
  }

  #logReconciled(writes: PolicyWrites): void {
    const isChanged = Object.values(writes).some((count) => count > 0)
    if (this.#isPolicyLogged && !isChanged) return
    this.#isPolicyLogged = true
    this.#dependencies.log.info(writes, 'default roles and bindings are stored')
  }

  /** Runs a controller while this member leads, unless it is disabled. */
  #switched(
    name: ControllerName,
    controller: SwitchedWork,
    queueName = queueNames[name],
  ): readonly (() => void)[] {
    const { enabled, consensus } = this.#dependencies
    if (!enabled.has(name)) return []
    this.#queues.add(queueName, controller.queue)
    return [working(consensus, controller)]
  }

  #clientOf(controller: ControllerName): LocalClient {
    return this.#client(controllerUser(this.#dependencies.names, controller))
  }

  #client(user: UserInfo): LocalClient {
    const { registry, clock } = this.#dependencies
    return new LocalClient({ registry, clock, user, timeoutMs: callMsMax })
  }
}
