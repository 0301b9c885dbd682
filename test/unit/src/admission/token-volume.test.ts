/*
 * Goal: Pods get the token of their account as a volume in every container, unless the Pod or its
 * account declines it. Method: the shipped plugin, verbs and kinds, so that the volume is valid,
 * too.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { serviceAccountAdmission } from '../../../../src/admission/service-account.ts'
import { objectMember, objectsMember, textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { serviceAccountDefinition } from '../../../../src/resources/service-account.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { Fixture } from '../registry/fixture.ts'

const container: JsonObject = { name: 'c', image: 'i' }

async function open(t: TestContext, domain: ApiDomain = 'orch.io'): Promise<Fixture> {
  const names = namesOf(domain)
  const definition = serviceAccountDefinition(names)
  const random = new SeededRandom(3)
  const plugin = serviceAccountAdmission({ names, clock: systemClock, random, definition })
  const api = await Fixture.open({ domain, admission: admissionChain([plugin]) })
  t.after(() => api.close())
  return api
}

async function specOf(api: Fixture, name: string, spec: JsonObject = {}): Promise<JsonObject> {
  const body = { metadata: { name }, spec: { containers: [container], ...spec } }
  return objectMember((await api.create({ kind: 'Pod', body })).object, 'spec')
}

const mountsOf = (one: JsonObject | undefined) => objectsMember(one ?? {}, 'volumeMounts')

for (const [domain, path, ca, key] of [
  ['orch.io', '/var/run/secrets/orch.io/serviceaccount', 'root-ca.crt', 'root-ca.crt'],
  ['k8s.io', '/var/run/secrets/kubernetes.io/serviceaccount', 'kube-root-ca.crt', 'ca.crt'],
] as const) {
  void test(`spec 2.5, 5.6: a Pod gets the bound token volume in each container (${domain})`, async (t) => {
    const api = await open(t, domain)
    const first = { ...container, name: 'first' }
    const spec = await specOf(api, 'a', {
      containers: [container, { ...container, name: 'd' }],
      initContainers: [first],
    })
    const [volume] = objectsMember(spec, 'volumes')
    const name = textMember(volume ?? {}, 'name')
    assert.match(name, /^kube-api-access-[0-9a-z]{5}$/)
    assert.deepEqual(volume, {
      name,
      projected: {
        sources: [
          { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
          { configMap: { name: ca, items: [{ key, path: 'ca.crt' }] } },
          {
            downwardAPI: {
              items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
            },
          },
        ],
        defaultMode: 420,
      },
    })
    const all = [...objectsMember(spec, 'containers'), ...objectsMember(spec, 'initContainers')]
    assert.equal(all.length, 3)
    for (const one of all) assert.deepEqual(mountsOf(one), [{ name, readOnly: true, mountPath: path }])
    const other = await specOf(api, 'b')
    assert.notEqual(textMember(objectsMember(other, 'volumes')[0] ?? {}, 'name'), name)
  })
}

void test('spec 5.6: a Pod or its account declines the token, and the Pod takes precedence', async (t) => {
  const api = await open(t)
  const declined = { metadata: { name: 'quiet' }, automountServiceAccountToken: false }
  await api.create({ kind: 'ServiceAccount', body: declined })
  const has = async (name: string, spec: JsonObject): Promise<boolean> =>
    objectsMember(await specOf(api, name, spec), 'volumes').length > 0
  const quiet = { serviceAccountName: 'quiet' }
  assert.equal(await has('a', { automountServiceAccountToken: false }), false)
  assert.equal(await has('b', quiet), false)
  assert.equal(await has('c', { ...quiet, automountServiceAccountToken: true }), true)
})

void test('a container keeps what it mounts at the path of the token, and a volume named kube-api-access-* is used', async (t) => {
  const api = await open(t)
  const mountPath = '/var/run/secrets/orch.io/serviceaccount'
  const volumes = [{ name: 'own', emptyDir: {} }]
  const own = { ...container, volumeMounts: [{ name: 'own', mountPath }] }
  const kept = await specOf(api, 'a', { volumes, containers: [own] })
  assert.deepEqual(objectsMember(kept, 'volumes'), volumes)
  assert.deepEqual(mountsOf(objectsMember(kept, 'containers')[0]), own.volumeMounts)
  const given = [{ name: 'kube-api-access-mine', emptyDir: {} }]
  const used = await specOf(api, 'b', { volumes: given })
  assert.deepEqual(objectsMember(used, 'volumes'), given)
  assert.equal(mountsOf(objectsMember(used, 'containers')[0])[0]?.['name'], 'kube-api-access-mine')
})

void test('an update of a Pod adds nothing', async (t) => {
  const api = await open(t)
  await specOf(api, 'a', { automountServiceAccountToken: false })
  const { object } = await api.get({ kind: 'Pod', name: 'a' })
  const body = { ...object, metadata: { ...object.metadata, labels: { a: 'b' } } }
  const updated = await api.update({ kind: 'Pod', name: 'a', body })
  assert.deepEqual(objectMember(updated.object, 'spec'), objectMember(object, 'spec'))
})
