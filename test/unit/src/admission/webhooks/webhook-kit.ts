import { Registry as MetricsRegistry } from 'prom-client'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { systemClock } from '../../../../../fixtures/system.ts'
import { AdmissionMetrics } from '../../../../../src/admission/admission-metrics.ts'
import { admissionChain } from '../../../../../src/admission/chain.ts'
import type { AdmissionPlugin } from '../../../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../../../src/admission/namespace-lifecycle.ts'
import type { BreakerState } from '../../../../../src/outward/circuit-breaker.ts'
import type { CompiledWebhook } from '../../../../../src/admission/webhooks/compiled-webhook.ts'
import { WebhookSource } from '../../../../../src/admission/webhooks/follow-webhooks.ts'
import { Freshness } from '../../../../../src/admission/webhooks/freshness.ts'
import { mutatingWebhooks } from '../../../../../src/admission/webhooks/mutating-webhooks.ts'
import { validatingWebhooks } from '../../../../../src/admission/webhooks/validating-webhooks.ts'
import { WebhookCaller } from '../../../../../src/admission/webhooks/webhook-caller.ts'
import { WebhookClients } from '../../../../../src/outward/webhook-clients.ts'
import type { CredentialsFor } from '../../../../../src/outward/webhook-clients.ts'
import { AllWebhookStatistics } from '../../../../../src/outward/webhook-statistics.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import type { ApiDomain } from '../../../../../src/api/metadata/names.ts'
import type { Admission } from '../../../../../src/registry/calls/admission.ts'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { OutwardServer } from '../../../../support/fixtures/outward-server.ts'
import type { Answer, SeenCall } from '../../../../support/fixtures/outward-server.ts'
import { allow, base64, reviewOf } from '../../../../support/fixtures/webhook-answers.ts'
import { until } from '../../../../support/tools/until.ts'
import type { ObjectConverter } from '../../../../../src/registry/kinds/object-converter.ts'
import { Fixture } from '../../registry/fixture.ts'

export type KitOptions = {
  readonly domain?: ApiDomain
  /** Response of the server. Unset: it allows everything. */
  readonly answer?: (call: SeenCall) => Answer | Promise<Answer>
  readonly credentials?: CredentialsFor
  readonly converter?: ObjectConverter
  /** Local plugins before the webhooks. */
  readonly plugins?: readonly AdmissionPlugin[]
  readonly extra?: readonly ResourceDefinition[]
  readonly proofAgeMs?: () => number
  readonly wrap?: (store: ObjectStore) => ObjectStore
}

/** The verbs over the state machine in memory, with webhooks on a real HTTPS server. */
export class WebhookKit {
  readonly api: Fixture
  readonly server: OutwardServer
  readonly source: WebhookSource
  readonly statistics: AllWebhookStatistics
  readonly clients: WebhookClients
  readonly metrics: MetricsRegistry
  readonly breakerChanges: readonly { readonly webhook: CompiledWebhook; readonly state: BreakerState }[]
  answer: (call: SeenCall) => Answer | Promise<Answer>

  constructor(
    parts: Omit<WebhookKit, 'answer' | 'configure' | 'webhook' | 'reviews' | 'clear'>,
    options: KitOptions,
  ) {
    this.api = parts.api
    this.server = parts.server
    this.source = parts.source
    this.statistics = parts.statistics
    this.clients = parts.clients
    this.metrics = parts.metrics
    this.breakerChanges = parts.breakerChanges
    this.answer = options.answer ?? ((call) => allow(call))
  }

  static async open(t: TestContext, options: KitOptions = {}): Promise<WebhookKit> {
    const admission: { chain: Admission | null } = { chain: null }
    const chain = (): Admission => admission.chain ?? admissionChain([])
    const api = await Fixture.open({
      domain: options.domain ?? 'orch.io',
      ...(options.extra === undefined ? {} : { extra: options.extra }),
      ...(options.wrap === undefined ? {} : { wrap: options.wrap }),
      ...(options.converter === undefined ? {} : { converter: options.converter }),
      admission: {
        mutate: (request) => chain().mutate(request),
        validate: (request) => chain().validate(request),
        extraOperations: (request) => chain().extraOperations(request),
      },
    })
    let kit: WebhookKit | null = null
    const server = await OutwardServer.start(t, (call) => kit?.answer(call) ?? allow(call))
    const { names, catalog, store, clock } = api
    const source = new WebhookSource({ names, catalog, store, clock })
    const random = new SeededRandom(5)
    const credentials = options.credentials ?? (() => null)
    const clients = new WebhookClients({ clock: systemClock, random, credentials })
    const statistics = new AllWebhookStatistics(clock)
    source.onChange((change) => {
      clients.follow(change)
      statistics.follow(change)
    })
    source.start()
    const metrics = new MetricsRegistry()
    const breakerChanges: { webhook: CompiledWebhook; state: BreakerState }[] = []
    const caller = new WebhookCaller({
      // The fixture's time advances only by the test, but calls take real time.
      clock: { ...systemClock, monotonicMs: () => clock.monotonicMs() },
      ...{ random, names, clients, statistics, metrics: new AdmissionMetrics(metrics) },
      onBreaker: (webhook, state) => breakerChanges.push({ webhook, state }),
    })
    const { proofAgeMs = () => 0 } = options
    const reads = {
      get freshness() {
        return { asOfMs: clock.monotonicMs() - proofAgeMs(), confirmedMs: clock.monotonicMs() }
      },
    }
    const barrier = (deadlineMs: number): Promise<void> => store.barrier(deadlineMs)
    const freshness = new Freshness({ store: { barrier, reads }, clock, source })
    const first = [namespaceLifecycle({ names }), ...(options.plugins ?? [])]
    const reinvoke = admissionChain(first)
    const parts = { source, caller, freshness }
    admission.chain = admissionChain([
      ...first,
      mutatingWebhooks({ ...parts, reinvoke: (request) => reinvoke.mutate(request) }),
      validatingWebhooks(parts),
    ])
    kit = new WebhookKit({ api, server, source, statistics, clients, metrics, breakerChanges }, options)
    t.after(async () => {
      source.close()
      clients.close()
      await api.close()
    })
    return kit
  }

  /**
   * Returns a webhook for the server, for every write of ConfigMaps unless `more` has other rules.
   */
  webhook(name: string, more: JsonObject = {}): JsonObject {
    return {
      name,
      clientConfig: { url: this.server.url.href, caBundle: base64(this.server.authority.pem) },
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      timeoutSeconds: 30,
      ...more,
    }
  }

  /** Stores a configuration and waits until it is in force. */
  async configure(
    type: 'mutating' | 'validating',
    name: string,
    webhooks: readonly JsonObject[],
    metadata: JsonObject = {},
  ): Promise<void> {
    const kind = type === 'mutating' ? 'MutatingWebhookConfiguration' : 'ValidatingWebhookConfiguration'
    await this.api.create({ kind, body: { metadata: { name, ...metadata }, webhooks: [...webhooks] } })
    await until(
      `${name} is in force`,
      () => webhooks.length === 0 || this.source.all().some(({ configuration }) => configuration === name),
    )
  }

  /** Returns the requests that webhooks got since the last `clear`. */
  reviews(): readonly JsonObject[] {
    return this.server.calls.map(reviewOf)
  }

  clear(): void {
    this.server.calls.length = 0
  }
}
