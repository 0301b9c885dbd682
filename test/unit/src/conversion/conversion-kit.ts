import type { TestContext } from 'node:test'
import { Registry as MetricsRegistry } from 'prom-client'
import { SeededRandom } from '../../../../base/random.ts'
import { followConversions } from '../../../../src/conversion/follow-conversions.ts'
import { ConversionMetrics } from '../../../../src/conversion/conversion-metrics.ts'
import { ConversionWebhooks } from '../../../../src/conversion/conversion-webhooks.ts'
import { textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { WebhookClients } from '../../../../src/outward/webhook-clients.ts'
import type { RegistryLimits } from '../../../../src/registry/shared/registry-limits.ts'
import { customKinds } from '../../../../src/resources/crd/custom-kind.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { converts, hostPortVersions } from '../../../support/fixtures/conversion-hook.ts'
import { OutwardServer } from '../../../support/fixtures/outward-server.ts'
import type { Answer, SeenCall } from '../../../support/fixtures/outward-server.ts'
import { base64 } from '../../../support/fixtures/webhook-answers.ts'
import { Fixture } from '../registry/fixture.ts'
import { definitionBody, definitionKind } from '../resources/crd/definition-samples.ts'

export const definitionName = 'gadgets.test.example'
const names = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' }

/** The two versions, as `Fixture.definition` names them. */
export const [v1, v2] = ['test.example/v1/Gadget', 'test.example/v2/Gadget'] as const

export type ConversionKitOptions = {
  readonly domain?: ApiDomain
  readonly storage?: 'v1' | 'v2'
  readonly limits?: Partial<RegistryLimits>
  readonly versions?: readonly JsonObject[]
  /** More of `spec.conversion.webhook`. */
  readonly webhook?: JsonObject
}

/** The verbs in memory, with gadgets whose versions a real HTTPS server converts. */
export class ConversionKit {
  readonly api: Fixture
  readonly hook: OutwardServer
  readonly metrics: MetricsRegistry
  /** Returns the answer of the webhook to a call. */
  answer: (call: SeenCall) => Answer | Promise<Answer> = converts
  readonly failures: string[] = []
  converter: ConversionWebhooks | null = null

  /** Returns the number of open pools of connections. */
  pools = (): number => 0

  constructor(api: Fixture, hook: OutwardServer, metrics: MetricsRegistry) {
    this.api = api
    this.hook = hook
    this.metrics = metrics
  }

  static async open(t: TestContext, options: ConversionKitOptions = {}): Promise<ConversionKit> {
    const domain = options.domain ?? 'orch.io'
    const made: { converter: ConversionWebhooks | null; kit: ConversionKit | null } = {
      converter: null,
      kit: null,
    }
    const hook = await OutwardServer.start(t, (call) => made.kit?.answer(call) ?? converts(call))
    const api = await Fixture.open({
      domain,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      converter: {
        convert: (...given) => made.converter?.convert(...given) ?? Promise.reject(new Error('too early')),
      },
    })
    const metrics = new MetricsRegistry()
    const kit = new ConversionKit(api, hook, metrics)
    made.kit = kit
    const random = new SeededRandom(3)
    const clients = new WebhookClients({ clock: systemClock, random, credentials: () => null })
    kit.pools = () => clients.size
    const unfollow = followConversions(api.catalog, clients)
    made.converter = new ConversionWebhooks({
      // Time advances only by the test, but calls take real time.
      clock: { ...systemClock, monotonicMs: () => api.clock.monotonicMs() },
      ...{ random, names: namesOf(domain), clients, metrics: new ConversionMetrics(metrics) },
      failuresOf: () => ({ failed: (why) => void kit.failures.push(why), succeeded: () => undefined }),
    })
    kit.converter = made.converter
    t.after(async () => {
      unfollow()
      clients.close()
      await api.close()
    })
    await kit.#define(options)
    return kit
  }

  /** Returns `spec.conversion` of the definition. */
  conversion(more: JsonObject = {}): JsonObject {
    const clientConfig = { url: this.hook.url.href, caBundle: base64(this.hook.authority.pem) }
    return { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'], ...more } }
  }

  /** Changes the definition, and updates the catalog. */
  async redefine(spec: JsonObject): Promise<void> {
    await this.api.patch({ kind: definitionKind, name: definitionName, body: { spec } })
    await this.#take()
  }

  /** Returns the apiVersions of all objects, as they are stored. */
  stored(): readonly string[] {
    const prefix = prefixOf({ group: 'test.example', plural: 'gadgets', namespace: null })
    const { objects } = this.api.store.view().list(prefix, { after: null, limit: null })
    return objects.map(({ bytes }) => {
      const object = JSON.parse(Buffer.from(bytes).toString()) as JsonObject
      return textMember(object, 'apiVersion')
    })
  }

  /** Returns the number of calls of the webhook since the last call of this. */
  calls(): number {
    return this.hook.calls.splice(0).length
  }

  async #define({ storage = 'v1', versions, webhook }: ConversionKitOptions): Promise<void> {
    const { api } = this
    const { metadata, spec } = definitionBody()
    await api.create({
      kind: definitionKind,
      body: {
        metadata,
        spec: {
          ...spec,
          names,
          versions: versions ?? hostPortVersions(storage),
          conversion: this.conversion(webhook),
        },
      },
    })
    const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
    const status = { conditions, acceptedNames: names }
    await api.patch({ kind: definitionKind, name: definitionName, subresource: 'status', body: { status } })
    await this.#take()
  }

  async #take(): Promise<void> {
    const { object } = await this.api.get({ kind: definitionKind, name: definitionName })
    this.api.catalog.setCustom(customKinds(object, this.api.names))
  }
}

/** Returns a gadget in `v1`. */
export function gadget(name: string, hostPort = 'h:1', metadata: JsonObject = {}): JsonObject {
  return { metadata: { name, ...metadata }, spec: { hostPort } }
}

/** Returns a gadget in `v2`. */
export function gadget2(name: string, host = 'h', port = '1'): JsonObject {
  return { metadata: { name }, spec: { host, port } }
}
