import type { Registry as MetricsRegistry } from 'prom-client'
import { ApiError } from '../api/errors/api-error.ts'
import { badRequest, notFound, serviceUnavailable } from '../api/errors/standard-errors.ts'
import { formatTime } from '../api/metadata/time.ts'
import type { AdmissionMetrics } from '../admission/admission-metrics.ts'
import { registerWebhookStates } from '../admission/admission-metrics.ts'
import type { RemotePlugin } from '../admission/chain.ts'
import { EVENT_NAMESPACE, breakerEvent } from '../admission/webhooks/breaker-events.ts'
import { BreakerReports } from '../admission/webhooks/breaker-reports.ts'
import type { BreakerState } from '../outward/circuit-breaker.ts'
import { suspensionAnnotation } from '../admission/webhooks/compiled-webhook.ts'
import type { CompiledWebhook } from '../admission/webhooks/compiled-webhook.ts'
import { WebhookSource } from '../admission/webhooks/follow-webhooks.ts'
import { Freshness } from '../admission/webhooks/freshness.ts'
import { mutatingWebhooks } from '../admission/webhooks/mutating-webhooks.ts'
import { describeWebhooks } from '../admission/webhooks/describe-webhooks.ts'
import type { WebhookDescription } from '../admission/webhooks/describe-webhooks.ts'
import { isSuspended } from '../admission/webhooks/suspension.ts'
import { validatingWebhooks } from '../admission/webhooks/validating-webhooks.ts'
import { WebhookCaller } from '../admission/webhooks/webhook-caller.ts'
import { WebhookClients } from '../outward/webhook-clients.ts'
import type { CredentialsFor } from '../outward/webhook-clients.ts'
import { AllWebhookStatistics } from '../outward/webhook-statistics.ts'
import type { Admission } from '../registry/calls/admission.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { LocalClient } from '../registry/local-client.ts'
import type { RequestContext } from '../registry/calls/request.ts'
import type { Registry, VerbRequest } from '../registry/calls/verb.ts'
import type { WebhookChange } from '../server/routes/webhooks.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { MemberContext } from './context.ts'
import { serverUser } from './controllers/controller-user.ts'

export type AdmissionWebhooksDependencies = {
  readonly store: ObjectStore
  readonly catalog: Catalog
  readonly credentials: CredentialsFor
  readonly metrics: AdmissionMetrics
}

/** Timeout of the call that stores an event. */
const EVENT_CALL_MS_MAX = 10_000

/** The admission webhooks of this member. */
export class AdmissionWebhooks {
  readonly #site: Pick<MemberContext, 'clock' | 'random' | 'names' | 'log' | 'config'>
  readonly #statistics: AllWebhookStatistics
  readonly #source: WebhookSource
  readonly #clients: WebhookClients
  readonly #caller: WebhookCaller
  readonly #freshness: Freshness
  readonly #reports = new BreakerReports()
  #registry: Registry | null = null

  constructor(site: MemberContext, dependencies: AdmissionWebhooksDependencies) {
    const { clock, random, names } = site
    const { store, catalog, credentials, metrics } = dependencies
    this.#site = site
    this.#statistics = new AllWebhookStatistics(clock)
    this.#source = new WebhookSource({ names, store, clock, catalog })
    this.#clients = new WebhookClients({ clock, random, credentials })
    this.#freshness = new Freshness({ store, clock, source: this.#source })
    this.#caller = new WebhookCaller({
      ...{ clock, random, names, clients: this.#clients, statistics: this.#statistics, metrics },
      onBreaker: (webhook, state, why) => this.#report(webhook, state, why),
    })
    this.#source.onChange((change) => {
      this.#clients.follow(change)
      this.#statistics.follow(change)
    })
    this.#source.start()
  }

  /** @param reinvoke runs the mutating plugins that come before the webhooks again */
  mutating(reinvoke: Admission['mutate']): RemotePlugin {
    return mutatingWebhooks({ ...this.#parts(), reinvoke })
  }

  validating(): RemotePlugin {
    return validatingWebhooks(this.#parts())
  }

  /** @param registry stores the events about webhooks, and the suspensions */
  reportTo(registry: Registry): void {
    this.#registry = registry
  }

  describe(): readonly WebhookDescription[] {
    const { clock } = this.#site
    return describeWebhooks(this.#source.all(), this.#statistics, {
      nowMs: clock.monotonicMs(),
      wallMs: clock.wallMs(),
    })
  }

  /** Suspends or resumes the webhooks of a configuration. @throws ApiError */
  async change(context: RequestContext, change: WebhookChange): Promise<void> {
    const { names } = this.#site
    const { configuration, type, suspendedUntilMs } = change
    const registry = this.#registry
    if (registry === null) throw serviceUnavailable('this member is starting')
    const group = names.group('admissionregistration')
    const types = type === null ? (['mutating', 'validating'] as const) : [type]
    const found: VerbRequest[] = []
    for (const one of types) {
      const definition = registry.catalog.find(group, 'v1', `${one}webhookconfigurations`)
      if (definition === null) continue
      const target = { namespace: null, name: configuration, subresource: null }
      const request = { definition, context, target, query: NO_QUERY, body: NO_BODY, contentType: '' }
      if (await exists(registry, request)) found.push(request)
    }
    const [request, other] = found
    if (request === undefined) throw notFound({ group, resource: 'webhookconfigurations' }, configuration)
    if (other !== undefined) {
      throw badRequest(`configurations of both types are named ${configuration}: state the type`)
    }
    const until = suspendedUntilMs === null ? null : formatTime(suspendedUntilMs)
    const body = { metadata: { annotations: { [suspensionAnnotation(names)]: until } } }
    const contentType = 'application/merge-patch+json'
    await registry.patch({ ...request, body: Buffer.from(JSON.stringify(body)), contentType })
  }

  register(metrics: MetricsRegistry): void {
    registerWebhookStates(metrics, () => {
      const wallMs = this.#site.clock.wallMs()
      return this.#source.all().map((webhook) => {
        const { type, configuration, name } = webhook
        const { state } = this.#statistics.of(webhook).breaker
        return { type, configuration, name, state: isSuspended(webhook, wallMs) ? 'suspended' : state }
      })
    })
  }

  close(): void {
    this.#source.close()
    this.#clients.close()
  }

  #parts() {
    return { source: this.#source, caller: this.#caller, freshness: this.#freshness }
  }

  #report(webhook: CompiledWebhook, state: BreakerState, why: string): void {
    const { clock, random, names, log, config } = this.#site
    const { configuration, name } = webhook
    if (state === 'closed') log.info({ configuration, webhook: name }, 'admission webhook responds again')
    else
      log.warn({ configuration, webhook: name, cause: why }, 'admission webhook fails, calls are suspended')
    if (!this.#reports.isDue(this.#statistics.of(webhook), state, clock.monotonicMs())) return
    const suffix = Buffer.from(random.bytes(8)).toString('hex')
    const of = { names, webhook, state, why, member: config.name, wallMs: clock.wallMs(), suffix }
    void this.#write(breakerEvent(of))
  }

  async #write(event: ReturnType<typeof breakerEvent>): Promise<void> {
    const { clock, log } = this.#site
    const registry = this.#registry
    const definition = registry?.catalog.find('', 'v1', 'events') ?? null
    if (registry === null || definition === null) return
    const client = new LocalClient({ registry, clock, user: serverUser(), timeoutMs: EVENT_CALL_MS_MAX })
    try {
      await client.create(definition, EVENT_NAMESPACE, event)
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause
      log.warn({ err: cause }, 'event about an admission webhook not stored')
    }
  }
}

const NO_QUERY: ReadonlyMap<string, readonly string[]> = new Map()
const NO_BODY = new Uint8Array(0)

async function exists(registry: Registry, request: VerbRequest): Promise<boolean> {
  try {
    await registry.get(request)
    return true
  } catch (cause) {
    if (cause instanceof ApiError && cause.code === 'NotFound') return false
    throw cause
  }
}
