import type { TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import pino from 'pino'
import type { NodeId } from '../../../../raft/index.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import type { RootCaSource } from '../../../../src/app/controllers/accounts.ts'
import { Controllers } from '../../../../src/app/controllers/controllers.ts'
import { podInformer } from '../../../../src/app/pods.ts'
import type { ControllerName } from '../../../../src/config/controllers-flag.ts'
import { definitionsPrefix, knownDefinition } from '../../../../src/controllers/custom-definition-summary.ts'
import type { Admission } from '../../../../src/registry/calls/admission.ts'
import type { Registry } from '../../../../src/registry/calls/verb.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import type { ServiceRanges } from '../../../../src/resources/services/service-ranges.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { dualStackRanges } from '../../../../fixtures/service-ranges.ts'
import { certificateIssuing } from '../../../support/fixtures/certificate-issuing.ts'
import { Fixture } from '../registry/fixture.ts'

export type LeadingMember = {
  readonly domain: ApiDomain
  readonly enabled: readonly ControllerName[]
  /** The admission of the registry; by default that of the fixture. */
  readonly admission?: Admission
  /** Wraps the store of the registry and of the controllers; by default it is not wrapped. */
  readonly wrap?: (store: ObjectStore) => ObjectStore
  readonly endedPodsMax?: number
  /** The members of the cluster; by default there are none. */
  readonly members?: readonly NodeId[]
  /** The root CA; by default one that never changes. */
  readonly rootCa?: RootCaSource
  /** The ranges of Services; by default large ranges of both families. */
  readonly ranges?: ServiceRanges
  /** The log of the controllers; by default nothing is logged. */
  readonly log?: pino.Logger
  /** Returns the verbs that the controllers call; by default those of the fixture. */
  readonly calls?: (api: Fixture) => Registry
  /** Called before the member begins to lead. */
  readonly prepare?: (api: Fixture) => Promise<void>
}

const steady: RootCaSource = { pem: 'CA', onChange: () => undefined }

/** Starts the controllers of a member that leads. */
export async function lead(t: TestContext, member: LeadingMember): Promise<Fixture> {
  const { domain, enabled, admission, endedPodsMax = 0, members = [], rootCa = steady } = member
  const { ranges = dualStackRanges, prepare, log = pino({ level: 'silent' }), calls, wrap } = member
  const names = namesOf(domain)
  const api = await Fixture.open({
    ...{ domain, ranges },
    ...(admission === undefined ? {} : { admission }),
    ...(wrap === undefined ? {} : { wrap }),
  })
  await prepare?.(api)
  const { store, consensus, clock, catalog } = api
  const registry = calls?.(api) ?? api.registry
  const definitions = new Informer({ store, clock, prefix: definitionsPrefix(names), parse: knownDefinition })
  const pods = podInformer({ names, store, clock })
  const controllers = new Controllers({
    ...{ registry, store, consensus, clock, names, catalog, definitions, pods, policy: [] },
    tokens: {
      audiences: [],
      issue: () => Promise.reject(new Error('no token is requested')),
      issueForSecret: async () => 'token',
      isKeyInForce: async () => true,
    },
    ...{ maintainKeys: null, onKeysChanged: () => undefined },
    kindsApplied: () => definitions.takeIn(),
    members: () => members,
    certificates: certificateIssuing(),
    rootCa,
    trust: { current: () => ({ clientAuthorities: null, proxies: null }), onChange: () => undefined },
    log,
    enabled: new Set(enabled),
    ...{ eventTtlMs: 0, endedPodsMax },
    ranges,
  })
  definitions.start()
  controllers.start()
  pods.start()
  t.after(() => {
    controllers.stop()
    pods.close()
    definitions.close()
    return api.close()
  })
  return api
}

/** Lets the controllers work for 10 s. */
export async function rest(api: Fixture): Promise<void> {
  for (let at = 0; at < 200; at++) {
    await turn()
    api.clock.advance(50)
  }
}
