import pino from 'pino'
import { admissionChain } from '../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../src/admission/namespace-lifecycle.ts'
import { resourceQuotaAdmission } from '../../../src/admission/resource-quota.ts'
import { storageProtectionAdmission } from '../../../src/admission/storage-protection.ts'
import { namesOf } from '../../../src/api/metadata/names.ts'
import type { ApiDomain, Names } from '../../../src/api/metadata/names.ts'
import { Controllers } from '../../../src/app/controllers/controllers.ts'
import { podInformer } from '../../../src/app/pods.ts'
import { authenticatedUser, GROUP_MASTERS } from '../../../src/auth/user.ts'
import { CONTROLLERS } from '../../../src/config/controllers-flag.ts'
import { Bootstrap } from '../../../src/controllers/bootstrap.ts'
import { bootstrapOperations } from '../../../src/resources/bootstrap-objects.ts'
import { CustomKindSync } from '../../../src/controllers/custom-kind-sync.ts'
import { definitionsPrefix, knownDefinition } from '../../../src/controllers/custom-definition-summary.ts'
import type { Registry } from '../../../src/registry/calls/verb.ts'
import { Informer } from '../../../src/registry/informer.ts'
import { Catalog } from '../../../src/registry/kinds/catalog.ts'
import { LocalClient } from '../../../src/registry/local-client.ts'
import { registry } from '../../../src/registry/registry.ts'
import { customKinds } from '../../../src/resources/crd/custom-kind.ts'
import { definitionsFor } from '../../../src/resources/index.ts'
import { defaultStoreLimits } from '../../../src/store/store-limits.ts'
import type { StoreLimits } from '../../../src/store/store-limits.ts'
import type { Store } from '../../../src/store/store.ts'
import type { StoreMachine } from '../../../src/store/store-machine.ts'
import { HistoryTrimmer } from '../../../src/store/trimming.ts'
import { featureLevelMax } from '../../../src/version.ts'
import { allowsEverything } from '../../support/fakes/allow-all-reviewers.ts'
import { ApiProcess } from '../clients/api-process.ts'
import type { Endpoint } from '../clients/connection.ts'
import { servedRanges } from '../clients/served.ts'
import type { ProcessInstance } from '../process-instance.ts'
import type { World } from '../world.ts'
import { simulatedAuthority, simulatedIssuing, simulatedTokens } from './issuers.ts'
import { consensusSeen, pluginWith, registryWith } from './mistake.ts'
import type { Mistake } from './mistake.ts'

export type ControlledOptions = {
  readonly world: World
  readonly domain: ApiDomain
  readonly storeLimits: StoreLimits
  /**
   * `everywhere`: the controllers of all members work at the same time. Members may disagree for a
   * while about which of them leads; only preconditions keep them apart then.
   */
  readonly work: 'on-leader' | 'everywhere'
  readonly mistake: Mistake | null
  /** Returns whether this term is that of the first leader that began to work. */
  readonly isFirstLeader: (term: number) => boolean
}

/** The root CA of the simulated servers. */
export function simulatedRootCa(): string {
  return simulatedAuthority(0).certificatePem
}

/** Short, so that events expire within a run. */
export const eventTtlMs = 15_000

/** The longest wait of a client for one call. */
export const clientTimeoutMs = 2_000

/** The API of a running process, with all controllers of the server. */
export class ControlledProcess extends ApiProcess implements Endpoint {
  readonly names: Names
  readonly catalog: Catalog
  /** A client with all permissions. */
  readonly client: LocalClient

  constructor(
    options: ControlledOptions,
    of: {
      readonly member: number
      readonly instance: ProcessInstance
      readonly machine: StoreMachine
      readonly store: Store
    },
  ) {
    const { world, domain, storeLimits, mistake } = options
    const { instance, machine, store } = of
    super(of)
    const { clock, node: consensus } = instance
    const random = world.random.fork()
    const names = namesOf(domain)
    this.names = names
    const catalog = new Catalog(definitionsFor(names))
    this.catalog = catalog
    const log = pino({ level: 'silent' })
    const definitions = new Informer({
      store,
      clock,
      prefix: definitionsPrefix(names),
      parse: knownDefinition,
    })
    const custom = new CustomKindSync({ clock, log, names, catalog, definitions, kindsOf: customKinds })
    const onFailure = (cause: unknown): void => world.fail(cause)
    const verbs: Registry = registry({
      ...{ store, clock, random, names, catalog },
      definitionsApplied: () => custom.untilCurrent(),
      admission: admissionChain([
        namespaceLifecycle({ names }),
        storageProtectionAdmission({ names }),
        pluginWith(mistake, resourceQuotaAdmission({ names })),
      ]),
      reviewers: allowsEverything,
    })
    const user = authenticatedUser({ name: 'admin', groups: [GROUP_MASTERS] })
    this.client = new LocalClient({ registry: verbs, clock, user, timeoutMs: clientTimeoutMs })
    const bootstrap = new Bootstrap({
      ...{ store, consensus, clock, random, names, fingerprints: {}, featureLevel: featureLevelMax },
      operations: () => bootstrapOperations(names, { clock, random }),
      settings: {
        ...{ historyWindowMs: 3_000, historyEventsMin: 100 },
        ...{ objectBytesMax: defaultStoreLimits.commandBytesMax, storageBytesMax: null },
      },
    })
    const trimmer = new HistoryTrimmer({
      ...{ consensus, machine, clock, onFailure },
      limits: { ...storeLimits, trimPeriodMs: 1_000 },
    })
    const pods = podInformer({ names, store, clock })
    const controllers = new Controllers({
      ...{ registry: registryWith(mistake, verbs), store, clock, names, catalog, definitions, pods },
      consensus: consensusSeen(consensus, (isLeader) => {
        if (mistake === 'no-successor') return isLeader && options.isFirstLeader(consensus.status.term)
        return isLeader || options.work === 'everywhere'
      }),
      kindsApplied: () => custom.untilCurrent(),
      members: () => machine.configuration.members.map(({ id }) => id),
      ...{ certificates: simulatedIssuing(random), tokens: simulatedTokens(random), maintainKeys: null },
      ...{ log },
      policy: [],
      rootCa: { pem: simulatedRootCa(), onChange: () => undefined },
      trust: {
        // Each member adds an authority of its own.
        current: () => ({
          clientAuthorities: simulatedAuthority(of.member).certificatePem,
          proxies: null,
        }),
        onChange: () => undefined,
      },
      onKeysChanged: () => undefined,
      enabled: new Set(CONTROLLERS),
      ...{ eventTtlMs, endedPodsMax: 0, ranges: servedRanges },
    })
    bootstrap.start(onFailure)
    trimmer.start()
    controllers.start()
    pods.start()
    custom.start()
    this.endsWith(
      () => pods.close(),
      () => custom.close(),
      () => bootstrap.stop(),
      () => trimmer.stop(),
      () => controllers.stop(),
    )
  }
}
