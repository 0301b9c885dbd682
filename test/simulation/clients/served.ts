import pino from 'pino'
import { certificateIssuing } from '../../support/fixtures/certificate-issuing.ts'
import { allowsEverything } from '../../support/fakes/allow-all-reviewers.ts'
import { admissionChain } from '../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../src/admission/namespace-lifecycle.ts'
import { Bootstrap } from '../../../src/controllers/bootstrap.ts'
import { bootstrapOperations } from '../../../src/resources/bootstrap-objects.ts'
import { Controllers } from '../../../src/app/controllers/controllers.ts'
import { podInformer } from '../../../src/app/pods.ts'
import { namesOf } from '../../../src/api/metadata/names.ts'
import { CONTROLLERS } from '../../../src/config/controllers-flag.ts'
import type { ApiDomain } from '../../../src/api/metadata/names.ts'
import type { Registry } from '../../../src/registry/calls/verb.ts'
import { definitionsPrefix, knownDefinition } from '../../../src/controllers/custom-definition-summary.ts'
import { Catalog } from '../../../src/registry/kinds/catalog.ts'
import { Informer } from '../../../src/registry/informer.ts'
import { defaultRegistryLimits } from '../../../src/registry/shared/registry-limits.ts'
import type { RegistryLimits } from '../../../src/registry/shared/registry-limits.ts'
import { registry } from '../../../src/registry/registry.ts'
import { definitionsFor } from '../../../src/resources/index.ts'
import {
  defaultAddressRanges,
  defaultNodePorts,
  serviceRanges,
} from '../../../src/resources/services/service-ranges.ts'
import type { Settings } from '../../../src/store/command.ts'
import type { StoreLimits } from '../../../src/store/store-limits.ts'
import type { ObjectStore } from '../../../src/store/object-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { HistoryTrimmer } from '../../../src/store/trimming.ts'
import type { StoreMachine } from '../../../src/store/store-machine.ts'
import type { ProcessInstance } from '../process-instance.ts'
import type { World } from '../world.ts'
import { ApiProcess } from './api-process.ts'

/** The addresses and ports of Services. */
export const servedRanges = serviceRanges(defaultAddressRanges, defaultNodePorts)

/** No tokens are issued: signatures would differ between runs of a seed. */
const noTokens = {
  audiences: [],
  issue: () => Promise.reject(new Error('no key')),
  issueForSecret: () => Promise.resolve('token'),
  isKeyInForce: () => Promise.resolve(true),
}

/** API options of a cluster, drawn from the seed. */
export type ServedOptions = {
  readonly world: World
  readonly domain: ApiDomain
  readonly settings: Settings
  /** The feature level that the cluster begins with. */
  readonly featureLevel: number
  readonly storeLimits: StoreLimits
  /** `skipped`: reads are served without the read barrier, to show that the checkers detect it. */
  readonly barrier: 'used' | 'skipped'
}

/** Bookmarks come often enough for runs of seconds. */
const limits: RegistryLimits = Object.freeze({
  ...defaultRegistryLimits,
  watchBookmarkPeriodMs: 400,
  sliceObjectsMax: 5,
})

/** Longer than any request of a client, and short enough that sessions expire during a run. */
const sessionIdleMs = 8_000

/** The API of a running process: the real verbs and controllers. */
export class Served extends ApiProcess {
  /** Number of the process, unique in the run. */
  readonly process: number
  readonly store: Store
  readonly registry: Registry

  constructor(
    options: ServedOptions,
    of: {
      readonly member: number
      readonly process: number
      readonly instance: ProcessInstance
      readonly machine: StoreMachine
      readonly store: Store
    },
  ) {
    const { world, domain, settings, featureLevel, storeLimits, barrier } = options
    const { instance, machine, store } = of
    super(of)
    this.process = of.process
    this.store = store
    const { clock, node: consensus } = instance
    const random = world.random.fork()
    const names = namesOf(domain)
    const catalog = new Catalog(definitionsFor(names))
    const onFailure = (cause: unknown): void => world.fail(cause)
    const given = barrier === 'used' ? store : withoutBarrier(store)
    this.registry = registry({
      ...{ store: given, clock, random, names, catalog, limits },
      admission: admissionChain([namespaceLifecycle({ names })]),
      reviewers: allowsEverything,
    })
    const bootstrap = new Bootstrap({
      store,
      consensus,
      clock,
      random,
      names,
      operations: () => bootstrapOperations(names, { clock, random }),
      fingerprints: {},
      settings,
      featureLevel,
    })
    const trimmer = new HistoryTrimmer({
      ...{ consensus, machine, clock, onFailure },
      limits: { ...storeLimits, trimPeriodMs: 300, sessionIdleMs },
    })
    const prefix = definitionsPrefix(names)
    const definitions = new Informer({ store, clock, prefix, parse: knownDefinition })
    const pods = podInformer({ names, store, clock })
    const controllers = new Controllers({
      ...{ registry: this.registry, store, consensus, clock, names, catalog, definitions, pods },
      kindsApplied: () => definitions.takeIn(),
      members: () => machine.configuration.members.map(({ id }) => id),
      certificates: certificateIssuing(),
      log: pino({ level: 'silent' }),
      policy: [],
      ...{ tokens: noTokens, maintainKeys: null },
      rootCa: { pem: null, onChange: () => undefined },
      trust: { current: () => ({ clientAuthorities: null, proxies: null }), onChange: () => undefined },
      onKeysChanged: () => undefined,
      enabled: new Set(CONTROLLERS),
      // Clients write no events.
      eventTtlMs: 0,
      endedPodsMax: 0,
      ranges: servedRanges,
    })
    bootstrap.start(onFailure)
    trimmer.start()
    controllers.start()
    pods.start()
    definitions.start()
    this.endsWith(
      () => pods.close(),
      () => definitions.close(),
      () => bootstrap.stop(),
      () => trimmer.stop(),
      () => controllers.stop(),
    )
  }
}

function withoutBarrier(store: Store): ObjectStore {
  const given: ObjectStore = store
  return new Proxy(given, {
    get: (target, name) => {
      if (name === 'barrier') return async () => undefined
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}
