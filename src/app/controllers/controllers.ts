import type { Registry as MetricsRegistry } from 'prom-client'
import type { Consensus } from '../../../raft/index.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { ControllerName } from '../../config/controllers-flag.ts'
import { limits } from '../../config/limits.ts'
import { EventRecorder } from '../../controllers/event-recorder.ts'
import type { ObjectExpiry } from '../../controllers/object-expiry.ts'
import { signingKeys } from '../../controllers/signing-keys.ts'
import { counter } from '../../metrics/gauges.ts'
import { WorkQueueMetrics } from '../../metrics/work-queue-metrics.ts'
import type { Registry } from '../../registry/calls/verb.ts'
import { LocalClient } from '../../registry/local-client.ts'
import type { Outcome } from '../../store/command.ts'
import type { ClaimRepairCounts } from '../../controllers/claim-repair.ts'
import type { EphemeralVolumeCounts } from '../../controllers/ephemeral-volumes.ts'
import { startAccounts } from './accounts.ts'
import type { AccountsParts } from './accounts.ts'
import { startAuthenticationTrust } from './authentication-trust.ts'
import type { AuthenticationTrustParts } from './authentication-trust.ts'
import { startGarbageCollection, startQuotas } from './all-objects.ts'
import type { GarbageCollectionParts } from './all-objects.ts'
import { startBootstrapTokens } from './bootstrap-tokens.ts'
import { startCertificates } from './certificates.ts'
import type { CertificateIssuing } from './certificates.ts'
import { callMsMax } from './controller-parts.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'
import { controllerAccount, controllerUser, serverUser } from './controller-user.ts'
import { startCustomDefinitions } from './custom-definitions.ts'
import type { CustomDefinitionsParts } from './custom-definitions.ts'
import { eventExpiry, recordExpiry } from './expiry.ts'
import { working } from './leading.ts'
import { startIdentityLeases } from './identity-leases.ts'
import type { IdentityLeasesParts } from './identity-leases.ts'
import { startNamespaceDeletion } from './namespaces.ts'
import { startPods, startVolumes } from './pods-and-volumes.ts'
import type { PodControllersParts } from './pods-and-volumes.ts'
import { startPolicy } from './policy.ts'
import type { PolicyParts } from './policy.ts'
import { queueNames } from './queue-names.ts'
import { startServerService } from './server-service.ts'
import type { ServerServiceParts } from './server-service.ts'
import { startServiceClaims } from './service-claims.ts'
import type { ServiceClaimsParts } from './service-claims.ts'

/** The dependencies of all groups of controllers, without those that `Controllers` adds. */
export type ControllersDependencies = Omit<
  GarbageCollectionParts &
    PodControllersParts &
    CustomDefinitionsParts &
    PolicyParts &
    AccountsParts &
    AuthenticationTrustParts &
    IdentityLeasesParts &
    ServiceClaimsParts &
    ServerServiceParts,
  | 'clientOf'
  | 'eventsOf'
  | 'ephemeralVolumes'
  | 'claimRepairs'
  | 'serverClient'
  | 'serverEvents'
  | 'switched'
  | 'always'
> & {
  readonly registry: Registry
  readonly consensus: Consensus<Outcome>
  /** Takes the next step for the signing keys. null: keys in files sign */
  readonly maintainKeys: (() => Promise<boolean>) | null
  readonly certificates: CertificateIssuing
  /** 0: events never expire. */
  readonly eventTtlMs: number
}

/** Runs the controllers on the leader. */
export class Controllers {
  readonly #dependencies: ControllersDependencies
  /** null: events never expire. */
  readonly #expiry: ObjectExpiry | null
  /** Expires the records of idempotency keys. */
  readonly #recordExpiry: readonly ObjectExpiry[]
  readonly #queues = new WorkQueueMetrics()
  /** The informer of the garbage collector. null: it is disabled. */
  #collected: { readonly failures: number } | null = null
  /** By controller. null: the recorder of the server itself. */
  readonly #recorders = new Map<ControllerName | null, EventRecorder>()
  readonly #ephemeralVolumes: EphemeralVolumeCounts = { created: 0, failed: 0 }
  readonly #claimRepairs: ClaimRepairCounts = { restored: 0, released: 0 }
  #stops: Stop[] = []

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
    const dropped = 'Events about the work of controllers that were not stored because there were too many.'
    counter(metrics, 'orch_controller_events_dropped', dropped, () => this.#droppedEvents())
    const calls = 'Calls to create the claim of an ephemeral volume.'
    counter(metrics, 'ephemeral_volume_controller_create', calls, () => this.#ephemeralVolumes.created)
    const refused = 'Failed calls to create the claim of an ephemeral volume.'
    const refusedName = 'ephemeral_volume_controller_create_failures'
    counter(metrics, refusedName, refused, () => this.#ephemeralVolumes.failed)
    const restored = 'Missing claims of addresses and ports of Services that this member restored.'
    counter(metrics, 'orch_service_claims_restored', restored, () => this.#claimRepairs.restored)
    const released = 'Claims of addresses and ports that no Service had and that this member deleted.'
    counter(metrics, 'orch_service_claims_released', released, () => this.#claimRepairs.released)
    this.#queues.register(metrics)
  }

  start(): void {
    const counts = { ephemeralVolumes: this.#ephemeralVolumes, claimRepairs: this.#claimRepairs }
    const parts = { ...this.#dependencies, ...this.#running(), ...counts }
    const collection = startGarbageCollection(parts)
    this.#collected = collection.informer
    this.#stops = [
      ...this.#startExpiry(this.#expiry),
      ...this.#recordExpiry.flatMap((expiry) => this.#startExpiry(expiry)),
      ...startNamespaceDeletion(parts),
      ...collection.stops,
      ...startCustomDefinitions(parts),
      ...startPolicy(parts),
      ...this.#startKeys(),
      ...startAccounts(parts),
      ...startAuthenticationTrust(parts),
      ...startPods(parts),
      ...startVolumes(parts),
      ...startQuotas(parts),
      ...startCertificates({ ...parts, ...parts.certificates }),
      ...startBootstrapTokens(parts),
      ...startIdentityLeases(parts),
      ...startServiceClaims(parts),
      ...startServerService(parts),
    ]
  }

  stop(): void {
    for (const stop of this.#stops.reverse()) stop()
    this.#stops = []
  }

  #startExpiry(expiry: ObjectExpiry | null): readonly Stop[] {
    if (expiry === null) return []
    expiry.start()
    const work = { start: () => expiry.lead(), stop: () => expiry.follow() }
    return [() => expiry.close(), working(this.#dependencies.consensus, work)]
  }

  #startKeys(): readonly Stop[] {
    const { consensus, clock, maintainKeys, certificates, log } = this.#dependencies
    const onError = (cause: unknown): void => log.warn({ err: cause }, 'shared keys not maintained yet')
    return [maintainKeys, certificates.maintain].flatMap((maintain) => {
      if (maintain === null) return []
      const work = signingKeys({ clock, periodMs: limits.keyRingCheckMs, maintain, onError })
      return [working(consensus, work)]
    })
  }

  /** How the controllers are run, and the users of their calls. */
  #running(): Pick<
    ControllerParts,
    'clientOf' | 'eventsOf' | 'serverClient' | 'serverEvents' | 'switched' | 'always'
  > {
    const { consensus, names, enabled } = this.#dependencies
    const always: ControllerParts['always'] = (queueName, work) => {
      this.#queues.add(queueName, work.queue)
      return working(consensus, work)
    }
    return {
      clientOf: (controller: ControllerName) => this.#client(controllerUser(names, controller)),
      eventsOf: (controller: ControllerName) => this.#recorder(controller),
      serverClient: this.#client(serverUser()),
      serverEvents: this.#recorder(null),
      switched: (name, work, queueName = queueNames[name]) =>
        enabled.has(name) ? [always(queueName, work)] : [],
      always,
    }
  }

  /** @param controller null: the server itself */
  #recorder(controller: ControllerName | null): EventRecorder {
    const known = this.#recorders.get(controller)
    if (known !== undefined) return known
    const { names, store, clock, catalog, log } = this.#dependencies
    const component = controller === null ? 'apiserver' : controllerAccount(controller)
    const user = controller === null ? serverUser() : controllerUser(names, controller)
    const made = new EventRecorder({
      ...{ store, clock, catalog, component },
      client: this.#client(user),
      onError: (cause) => log.info({ controller: controller ?? component, err: cause }, 'event not stored'),
    })
    this.#recorders.set(controller, made)
    return made
  }

  #droppedEvents(): number {
    return [...this.#recorders.values()].reduce((sum, { dropped }) => sum + dropped, 0)
  }

  #client(user: UserInfo): LocalClient {
    const { registry, clock } = this.#dependencies
    return new LocalClient({ registry, clock, user, timeoutMs: callMsMax })
  }
}
