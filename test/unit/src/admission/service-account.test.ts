/*
 * Goal: every Pod except a mirror Pod has an existing service account, and its pull secrets unless
 * the Pod has pull secrets itself. Method: the shipped plugin and verbs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../../src/admission/namespace-lifecycle.ts'
import { serviceAccountAdmission } from '../../../../src/admission/service-account.ts'
import { objectMember, objectsMember, textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { serviceAccountDefinition } from '../../../../src/resources/service-account.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'

const names = namesOf('orch.io')
const containers = [{ name: 'c', image: 'i' }]

async function open(t: TestContext): Promise<Fixture> {
  const random = new SeededRandom(3)
  const definition = serviceAccountDefinition(names)
  const plugin = serviceAccountAdmission({ names, clock: systemClock, random, definition })
  const api = await Fixture.open({ admission: admissionChain([namespaceLifecycle({ names }), plugin]) })
  t.after(() => api.close())
  return api
}

function createPod(
  api: Fixture,
  name: string,
  spec: JsonObject = {},
  metadata: JsonObject = {},
): Promise<Got> {
  return api.create({ kind: 'Pod', body: { metadata: { name, ...metadata }, spec: { containers, ...spec } } })
}

async function accounts(api: Fixture): Promise<readonly string[]> {
  return (await api.list({ kind: 'ServiceAccount' })).items.map(({ metadata }) => metadata.name)
}

function accountOf({ object }: Got): readonly string[] {
  const spec = objectMember(object, 'spec')
  return [textMember(spec, 'serviceAccountName'), textMember(spec, 'serviceAccount')]
}

void test('spec 5.6: a Pod that names no account gets `default`, which is created if it is missing', async (t) => {
  const api = await open(t)
  const query = { dryRun: 'All' }
  const dry = await api.create({
    kind: 'Pod',
    query,
    body: { metadata: { name: 'a' }, spec: { containers } },
  })
  assert.deepEqual([accountOf(dry), await accounts(api)], [['default', 'default'], []])
  const [first] = await Promise.all([createPod(api, 'a'), createPod(api, 'b'), createPod(api, 'c')])
  assert.deepEqual([accountOf(first), await accounts(api)], [['default', 'default'], ['default']])
  const { object } = await api.get({ kind: 'ServiceAccount', name: 'default' })
  assert.deepEqual(accountOf(await createPod(api, 'd', { serviceAccount: 'default' })), [
    'default',
    'default',
  ])
  const after = await api.get({ kind: 'ServiceAccount', name: 'default' })
  assert.equal(after.object.metadata.resourceVersion, object.metadata.resourceVersion)
  assert.equal((await api.list({ kind: 'Pod' })).items.length, 4)

  const stored = await api.get({ kind: 'Pod', name: 'a' })
  const { serviceAccountName: _name, serviceAccount: _old, ...spec } = objectMember(stored.object, 'spec')
  assert.ok([_name, _old].every((one) => one === 'default'))
  const body = { ...stored.object, metadata: { ...stored.object.metadata, labels: { a: 'b' } }, spec }
  assert.deepEqual(accountOf(await api.update({ kind: 'Pod', name: 'a', body })), ['default', 'default'])
})

void test('spec 5.6: a Pod whose account does not exist is refused', async (t) => {
  const api = await open(t)
  for (const serviceAccountName of ['robot', 'a/b', '../x']) {
    const seen = await refused(createPod(api, 'a', { serviceAccountName }))
    assert.equal(seen.code, 403)
    assert.match(
      seen.message,
      /pods "a" is forbidden: error looking up service account default\/.* not found$/,
    )
  }
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'robot' } } })
  assert.deepEqual(accountOf(await createPod(api, 'a', { serviceAccountName: 'robot' })), ['robot', 'robot'])
  assert.deepEqual(await accounts(api), ['robot'])
  // A Pod that exists can still be changed and deleted.
  await api.delete({ kind: 'ServiceAccount', name: 'robot' })
  await api.patch({ kind: 'Pod', name: 'a', body: { metadata: { labels: { a: 'b' } } } })
  await api.delete({ kind: 'Pod', name: 'a' })
  const missing = await refused(
    api.create({ kind: 'Pod', namespace: 'none', body: { metadata: { name: 'a' }, spec: { containers } } }),
  )
  assert.equal(missing.code, 404)
})

void test('spec 5.6: a Pod without pull secrets gets those of its account', async (t) => {
  const api = await open(t)
  const imagePullSecrets = [{ name: 'registry' }]
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'default' }, imagePullSecrets } })
  const pulls = ({ object }: Got) => objectsMember(objectMember(object, 'spec'), 'imagePullSecrets')
  assert.deepEqual(pulls(await createPod(api, 'a')), imagePullSecrets)
  const own = [{ name: 'own' }]
  assert.deepEqual(pulls(await createPod(api, 'b', { imagePullSecrets: own })), own)
})

void test('a mirror Pod is left as its node made it', async (t) => {
  const api = await open(t)
  const mirror = { annotations: { 'orch.io/config.mirror': 'x' } }
  assert.deepEqual(accountOf(await createPod(api, 'a', { nodeName: 'm1' }, mirror)), ['', ''])
  assert.deepEqual(await accounts(api), [])
})

void test('a mirror Pod that uses an account, a Secret or a token is refused', async (t) => {
  const api = await open(t)
  const mirror = { annotations: { 'orch.io/config.mirror': 'x' } }
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'robot' } } })
  const token = { path: 'token', expirationSeconds: 3600 }
  for (const [spec, why] of [
    [{ serviceAccountName: 'robot' }, 'reference service accounts'],
    [{ imagePullSecrets: [{ name: 'a' }] }, 'reference secrets'],
    [{ volumes: [{ name: 'v', secret: { secretName: 'a' } }] }, 'reference secrets'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: token }] } }] },
      'use ServiceAccountToken volume projections',
    ],
  ] as const) {
    const { code, message } = await refused(createPod(api, 'a', { nodeName: 'm1', ...spec }, mirror))
    assert.deepEqual([code, message], [403, `pods "a" is forbidden: a mirror pod may not ${why}`])
  }
})

void test('spec 5.6: an account with the annotation enforce-mountable-secrets lets its Pods use only the Secrets that it lists', async (t) => {
  const api = await open(t)
  await api.create({
    kind: 'ServiceAccount',
    body: {
      metadata: { name: 'strict', annotations: { 'orch.io/enforce-mountable-secrets': 'true' } },
      secrets: [{ name: 'mine' }],
      imagePullSecrets: [{ name: 'pull' }],
    },
  })
  const serviceAccountName = 'strict'
  const volume = (secretName: string): JsonObject => ({ volumes: [{ name: 'v', secret: { secretName } }] })
  const withContainer = (container: JsonObject, list = 'containers'): JsonObject => ({
    ...{ containers, [list]: [{ name: list === 'containers' ? 'c' : 'd', image: 'i', ...container }] },
  })
  const env = (name: string): JsonObject => ({
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }],
  })
  const envFrom = (name: string): JsonObject => ({ envFrom: [{ secretRef: { name } }] })
  for (const spec of [
    volume('mine'),
    withContainer(env('mine')),
    withContainer(envFrom('mine'), 'initContainers'),
    { imagePullSecrets: [{ name: 'pull' }] },
  ]) {
    await createPod(api, 'a', { serviceAccountName, ...spec })
    await api.delete({ kind: 'Pod', name: 'a', query: { gracePeriodSeconds: '0' } })
  }
  const words = 'because service account strict does not reference that secret'
  for (const [spec, why] of [
    [volume('other'), `volume with secret.secretName="other" is not allowed ${words}`],
    [
      withContainer(env('other'), 'initContainers'),
      `init container d with envVar A referencing secret.secretName="other" is not allowed ${words}`,
    ],
    [
      withContainer(env('other')),
      `container c with envVar A referencing secret.secretName="other" is not allowed ${words}`,
    ],
    [
      withContainer(envFrom('other')),
      `container c with envFrom referencing secret.secretName="other" is not allowed ${words}`,
    ],
    [
      { imagePullSecrets: [{ name: 'other' }] },
      'imagePullSecrets[0].name="other" is not allowed because service account strict does not reference that imagePullSecret',
    ],
  ] as const) {
    const { code, message } = await refused(createPod(api, 'a', { serviceAccountName, ...spec }))
    assert.deepEqual([code, message], [403, `pods "a" is forbidden: ${why}`])
  }
  // The restriction applies to an ephemeral container, too.
  await createPod(api, 'a', { serviceAccountName })
  const add = (name: string): Promise<Got> =>
    api.patch({
      ...{ kind: 'Pod', name: 'a', subresource: 'ephemeralcontainers' },
      body: { spec: { ephemeralContainers: [{ name: 'e', image: 'i', ...env(name) }] } },
    })
  assert.match(
    (await refused(add('other'))).message,
    /: ephemeral container e with envVar A referencing secret\.secretName="other" is not allowed /,
  )
  await add('mine')
})
