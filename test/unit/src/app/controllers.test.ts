/*
 * Goal: each controller writes as its user, and the user of a disabled one does not write.
 * Method: the shipped controllers, verbs and admission of one member that leads; an admission
 * plugin records the users that write. The users have no permissions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../../src/admission/namespace-lifecycle.ts'
import { roleEscalation } from '../../../../src/admission/role-escalation.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain, Names } from '../../../../src/api/metadata/names.ts'
import { controllerUser } from '../../../../src/app/controllers/controller-user.ts'
import { defaultPolicy } from '../../../../src/auth/bootstrap/default-policy.ts'
import { grantCheck } from '../../../../src/auth/grants.ts'
import { anyOf } from '../../../../src/auth/rules.ts'
import { CONTROLLERS } from '../../../../src/config/controllers-flag.ts'
import type { ControllerName } from '../../../../src/config/controllers-flag.ts'
import { allowsEverything } from '../../../support/fakes/allow-all-reviewers.ts'
import type { Fixture } from '../registry/fixture.ts'
import { nodeRequestBody } from '../controllers/certificates/request-bodies.ts'
import { storeClusterInfo, storeToken } from '../controllers/token-bodies.ts'
import { claimBody, volumeBody } from '../controllers/volume-bodies.ts'
import { storedPort, storeOlder } from '../resources/services/stored-services.ts'
import { lead, rest } from './leading-member.ts'

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

/** Starts controllers, and records the users that write. */
async function leadRecorded(
  t: TestContext,
  domain: ApiDomain,
  enabled: readonly ControllerName[],
): Promise<{ readonly api: Fixture; readonly writers: Set<string> }> {
  const writers = new Set<string>()
  const admission = recordingAdmission(namesOf(domain), writers)
  return { api: await lead(t, { domain, enabled, admission }), writers }
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
  const containers = [{ name: 'c', image: 'i' }]
  await api.create({
    kind: 'Pod',
    body: { metadata: { name: 'p' }, spec: { nodeName: 'absent', containers } },
  })
  const volumeClaimTemplate = { spec: claimBody('x')['spec'] ?? null }
  const volumes = [{ name: 'own', ephemeral: { volumeClaimTemplate } }]
  await api.create({ kind: 'Pod', body: { metadata: { name: 'e' }, spec: { containers, volumes } } })
  await api.create({
    kind: 'ResourceQuota',
    body: { metadata: { name: 'q' }, spec: { hard: { pods: '9' } } },
  })
  const kind = 'CertificateSigningRequest'
  await api.create({ kind, body: nodeRequestBody(names) })
  await api.create({ kind, body: nodeRequestBody(names, 'n2', 'approved') })
  const conditions = [{ type: 'Approved', status: 'True' }]
  const { object } = await api.get({ kind, name: 'approved' })
  const approved = { ...object, status: { conditions } }
  await api.update({ kind, name: 'approved', subresource: 'approval', body: approved })
  await api.create({ kind: 'PersistentVolumeClaim', body: claimBody('c') })
  await api.create({ kind: 'PersistentVolume', body: volumeBody('v') })
  await storeToken(api, 'expire', { expiration: '2020-01-01T00:00:00Z' })
  await storeToken(api, 'signer', {})
  await storeClusterInfo(api)
  const ports = [{ ...storedPort, nodePort: 30_001 }]
  await storeOlder(api, 'unclaimed', {
    type: 'NodePort',
    clusterIP: '10.9.9.9',
    clusterIPs: ['10.9.9.9'],
    ports,
  })
  await rest(api)
  await api.delete({ kind: 'Namespace', name: 'short-lived' })
  for (let at = 0; at < 5; at++) await rest(api)
}

/** The user that stores the priority classes of the system, whatever controllers are enabled. */
const SERVER = 'system:apiserver'

/** The user of each controller. */
function usersIn(names: Names): Readonly<Record<ControllerName, string>> {
  const account = (name: string): string => `system:serviceaccount:${names.systemNamespace}:${name}`
  return {
    bootstrapsigner: account('bootstrap-signer'),
    'clusterrole-aggregation': account('clusterrole-aggregation-controller'),
    csrapproving: account('certificate-controller'),
    csrcleaner: account('certificate-controller'),
    csrsigning: account('certificate-controller'),
    'ephemeral-volume': account('ephemeral-volume-controller'),
    garbagecollector: account('generic-garbage-collector'),
    'ipallocator-repair-controller': 'system:kube-controller-manager',
    namespace: account('namespace-controller'),
    podgc: account('pod-garbage-collector'),
    'portallocator-repair-controller': 'system:kube-controller-manager',
    'pv-protection': account('pv-protection-controller'),
    'pvc-protection': account('pvc-protection-controller'),
    resourcequota: account('resourcequota-controller'),
    'root-ca-cert-publisher': account('root-ca-cert-publisher'),
    serviceaccount: account('service-account-controller'),
    'serviceaccount-token': 'system:kube-controller-manager',
    tokencleaner: account('token-cleaner'),
  }
}

/** Some controllers share a user. */
function sorted(users: readonly string[]): readonly string[] {
  return [...new Set(users)].sort()
}

for (const domain of DOMAINS) {
  void test(`${domain}: every controller writes as its user, also what that user has no permission for`, async (t) => {
    const { api, writers } = await leadRecorded(t, domain, CONTROLLERS)
    await work(api)
    assert.deepEqual([...writers].sort(), sorted([SERVER, ...Object.values(usersIn(api.names))]))
  })
}

for (const disabled of CONTROLLERS) {
  void test(`a member that leads without the controller ${disabled} runs the others`, async (t) => {
    const { api, writers } = await leadRecorded(
      t,
      'k8s.io',
      CONTROLLERS.filter((name) => name !== disabled),
    )
    await work(api)
    const others = CONTROLLERS.filter((name) => name !== disabled).map((name) => usersIn(api.names)[name])
    assert.deepEqual([...writers].sort(), sorted([SERVER, ...others]))
  })
}

void test('the user of every controller is a subject of a default binding', () => {
  for (const domain of DOMAINS) {
    const names = namesOf(domain)
    const { bindings, namespacedBindings } = defaultPolicy(names)
    const subjects = [...bindings, ...namespacedBindings].flatMap((binding) => binding.subjects)
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
