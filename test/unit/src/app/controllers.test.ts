/*
 * Goal: each controller writes as a user of its own, and a disabled one does not work.
 * Method: the shipped controllers, verbs and admission of one member that leads; an admission
 * plugin records the users that write. Permissions beyond the one for a path are refused.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import pino from 'pino'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../../src/admission/namespace-lifecycle.ts'
import { roleEscalation } from '../../../../src/admission/role-escalation.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain, Names } from '../../../../src/api/metadata/names.ts'
import { controllerUser } from '../../../../src/app/controller-user.ts'
import { Controllers } from '../../../../src/app/controllers.ts'
import { defaultPolicy } from '../../../../src/auth/bootstrap/default-policy.ts'
import { grantCheck } from '../../../../src/auth/grants.ts'
import { anyOf } from '../../../../src/auth/rules.ts'
import { CONTROLLERS } from '../../../../src/config/controllers-flag.ts'
import type { ControllerName } from '../../../../src/config/controllers-flag.ts'
import { definitionsPrefix, knownDefinition } from '../../../../src/controllers/custom-definition-summary.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { allowsEverything } from '../../../support/fakes/allow-all-reviewers.ts'
import { Fixture } from '../registry/fixture.ts'

const DOMAINS = ['orch.io', 'k8s.io'] as const

const TESTER = 'tester'

function recordingAdmission(names: Names, writers: Set<string>) {
  const reviewers = {
    ...allowsEverything,
    authorize: async () => ({ allowed: false, denied: false, reason: '' }),
  }
  return admissionChain([
    namespaceLifecycle({ names }),
    roleEscalation({ names, reviewers, grants: grantCheck(anyOf([])) }),
    {
      name: 'Recorder',
      validate: ({ context }) => {
        const { name } = context.request.user
        if (name !== TESTER) writers.add(name)
      },
    },
  ])
}

/** Starts the controllers of a member that leads. */
async function lead(
  t: TestContext,
  domain: ApiDomain,
  enabled: readonly ControllerName[],
): Promise<{ readonly api: Fixture; readonly writers: Set<string> }> {
  const writers = new Set<string>()
  const names = namesOf(domain)
  const api = await Fixture.open({ domain, admission: recordingAdmission(names, writers) })
  const { registry, store, consensus, clock, catalog } = api
  const definitions = new Informer({ store, clock, prefix: definitionsPrefix(names), parse: knownDefinition })
  const controllers = new Controllers({
    ...{ registry, store, consensus, clock, names, catalog, definitions, policy: [] },
    tokens: {
      audiences: [],
      issue: () => Promise.reject(new Error('no token is requested')),
      issueForSecret: async () => 'token',
      isKeyInForce: async () => true,
    },
    ...{ maintainKeys: null, onKeysChanged: () => undefined },
    rootCa: { pem: 'CA', onChange: () => undefined },
    log: pino({ level: 'silent' }),
    enabled: new Set(enabled),
    eventTtlMs: 0,
  })
  definitions.start()
  controllers.start()
  t.after(() => {
    controllers.stop()
    definitions.close()
    return api.close()
  })
  return { api, writers }
}

/** Gives every controller work, and time for it. */
async function work(api: Fixture): Promise<void> {
  const { names } = api
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'short-lived' } } })
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'robot' } } })
  const annotations = { [names.label('service-account.name')]: 'robot' }
  const type = names.label('service-account-token')
  await api.create({ kind: 'Secret', body: { metadata: { name: 'robot', annotations }, type } })
  const labels = { part: 'all' }
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]
  await api.create({ kind: 'ClusterRole', body: { metadata: { name: 'part', labels }, rules } })
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: labels }] }
  await api.create({ kind: 'ClusterRole', body: { metadata: { name: 'all' }, aggregationRule, rules: [] } })
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'absent', uid: 'absent' }
  await api.create({ kind: 'ConfigMap', body: { metadata: { name: 'owned', ownerReferences: [owner] } } })
  await rest(api)
  await api.delete({ kind: 'Namespace', name: 'short-lived' })
  await rest(api)
}

async function rest(api: Fixture): Promise<void> {
  for (let at = 0; at < 200; at++) {
    await turn()
    api.clock.advance(50)
  }
}

/** The user of each controller. */
function usersIn(names: Names): Readonly<Record<ControllerName, string>> {
  const account = (name: string): string => `system:serviceaccount:${names.systemNamespace}:${name}`
  return {
    'clusterrole-aggregation': account('clusterrole-aggregation-controller'),
    garbagecollector: account('generic-garbage-collector'),
    namespace: account('namespace-controller'),
    'root-ca-cert-publisher': account('root-ca-cert-publisher'),
    serviceaccount: account('service-account-controller'),
    'serviceaccount-token': 'system:kube-controller-manager',
  }
}

for (const domain of DOMAINS) {
  void test(`${domain}: every controller writes as its own user, also what that user has no permission for`, async (t) => {
    const { api, writers } = await lead(t, domain, CONTROLLERS)
    await work(api)
    assert.deepEqual([...writers].sort(), Object.values(usersIn(api.names)).sort())
  })
}

for (const disabled of CONTROLLERS) {
  void test(`a member that leads without the controller ${disabled} runs the others`, async (t) => {
    const { api, writers } = await lead(
      t,
      'k8s.io',
      CONTROLLERS.filter((name) => name !== disabled),
    )
    await work(api)
    const others = CONTROLLERS.filter((name) => name !== disabled).map((name) => usersIn(api.names)[name])
    assert.deepEqual([...writers].sort(), others.sort())
  })
}

void test('the user of every controller is a subject of a default binding', () => {
  for (const domain of DOMAINS) {
    const names = namesOf(domain)
    const subjects = defaultPolicy(names).bindings.flatMap((binding) => binding.subjects)
    for (const controller of CONTROLLERS) {
      const { name } = controllerUser(names, controller)
      const found = subjects.some((subject) =>
        subject.kind === 'ServiceAccount'
          ? `system:serviceaccount:${subject.namespace}:${subject.name}` === name
          : subject.name === name,
      )
      assert.ok(found, `${domain} ${controller}`)
    }
  }
})
