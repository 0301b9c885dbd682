/*
 * Goal: a leader that cannot decrypt some objects, as it lacks a key or awaits it from a key
 * management service, does not decide as if they did not exist.
 * Method: the shipped controllers and verbs on the store that encrypts, whose keys change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { storageProtectionAdmission } from '../../../../src/admission/storage-protection.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ControllerName } from '../../../../src/config/controllers-flag.ts'
import { EncryptedStore } from '../../../../src/encryption/encrypted-store.ts'
import type { EncryptionKeys } from '../../../../src/encryption/resource-keys.ts'
import { customDefinition } from '../../../support/fixtures/custom-definition.ts'
import { keysOf, providerOf } from '../../../support/fixtures/encrypted-server.ts'
import { lead, rest } from '../app/leading-member.ts'
import type { Fixture, Obj } from '../registry/fixture.ts'
import { claimBody } from './volume-bodies.ts'

const [one, two] = [providerOf('one', 1), providerOf('two', 2)]

type Leader = { readonly api: Fixture; readonly use: (keys: EncryptionKeys) => void }

/** Starts to lead with `lacking`, after `prepare` has written with `keys`. */
async function leader(
  t: TestContext,
  of: {
    readonly enabled: readonly ControllerName[]
    readonly keys: EncryptionKeys
    readonly lacking: EncryptionKeys
    readonly prepare: (api: Fixture) => Promise<void>
  },
): Promise<Leader> {
  const made: EncryptedStore[] = []
  const api = await lead(t, {
    ...{ domain: 'orch.io', enabled: of.enabled },
    admission: admissionChain([storageProtectionAdmission({ names: namesOf('orch.io') })]),
    wrap: (store) => {
      const encrypted = new EncryptedStore(store, { cacheBytesMax: 0, onSealed: () => undefined })
      encrypted.use(of.keys)
      made.push(encrypted)
      return encrypted
    },
    prepare: async (prepared) => {
      await of.prepare(prepared)
      made[0]?.use(of.lacking)
    },
  })
  return { api, use: (keys) => made[0]?.use(keys) }
}

const referenceTo = ({ apiVersion, kind, metadata: { name, uid } }: Obj) => ({
  ...{ apiVersion, kind, name, uid, blockOwnerDeletion: true },
})

async function ownedSecret(api: Fixture, owner: Obj): Promise<void> {
  const ownerReferences = [referenceTo(owner)]
  await api.create({ kind: 'Secret', body: { metadata: { name: 'dependent', ownerReferences } } })
}

async function namesOfKind(api: Fixture, kind: string): Promise<readonly string[]> {
  return (await api.list({ kind })).items.map(({ metadata }) => metadata.name)
}

const [all, first] = [keysOf('secrets', two, one), keysOf('secrets', one)]

for (const [policy, left] of [
  ['Orphan', ['dependent']],
  ['Foreground', []],
] as const) {
  void test(`a deletion with the policy ${policy} waits for dependents that cannot be decrypted`, async (t) => {
    const { api, use } = await leader(t, {
      ...{ enabled: ['garbagecollector'], keys: all, lacking: first },
      prepare: async (prepared) => ownedSecret(prepared, (await prepared.configMap('owner')).object),
    })
    assert.equal((await api.delete({ name: 'owner', query: { propagationPolicy: policy } })).code, 202)
    await rest(api)
    assert.deepEqual(await namesOfKind(api, 'ConfigMap'), ['owner'])
    use(all)
    for (let round = 0; round < 5; round++) await rest(api)
    assert.deepEqual(await namesOfKind(api, 'ConfigMap'), [])
    assert.deepEqual(await namesOfKind(api, 'Secret'), left)
  })
}

void test('a deletion does not wait for objects of other namespaces, which cannot depend on its object', async (t) => {
  const { api } = await leader(t, {
    ...{ enabled: ['garbagecollector'], keys: all, lacking: first },
    prepare: async (prepared) => {
      await prepared.create({ kind: 'Namespace', body: { metadata: { name: 'other' } } })
      await prepared.create({ kind: 'Secret', namespace: 'other', body: { metadata: { name: 'a' } } })
    },
  })
  await api.configMap('owner')
  await api.delete({ name: 'owner', query: { propagationPolicy: 'Orphan' } })
  await rest(api)
  assert.deepEqual(await namesOfKind(api, 'ConfigMap'), [])
})

void test('a claim stays protected while Pods that may use it cannot be decrypted', async (t) => {
  const { api, use } = await leader(t, {
    enabled: ['pvc-protection'],
    ...{ keys: keysOf('pods', two, one), lacking: keysOf('pods', one) },
    prepare: async (prepared) => {
      for (const name of ['used', 'free'])
        await prepared.create({ kind: 'PersistentVolumeClaim', body: claimBody(name) })
      const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'used' } }]
      const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], volumes }
      await prepared.create({ kind: 'Pod', body: { metadata: { name: 'p' }, spec } })
    },
  })
  for (const name of ['used', 'free']) await api.delete({ kind: 'PersistentVolumeClaim', name })
  await rest(api)
  assert.deepEqual(await namesOfKind(api, 'PersistentVolumeClaim'), ['free', 'used'])
  use(keysOf('pods', two, one))
  for (let round = 0; round < 5; round++) await rest(api)
  assert.deepEqual(await namesOfKind(api, 'PersistentVolumeClaim'), ['used'])
})

void test('an aggregated role keeps its rules while a role that it selects cannot be decrypted', async (t) => {
  const resource = 'clusterroles.rbac.authorization.orch.io'
  const labels = { aggregate: 'yes' }
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  const keys = keysOf(resource, two, one)
  const { api, use } = await leader(t, {
    ...{ enabled: ['clusterrole-aggregation'], keys, lacking: keysOf(resource, one) },
    prepare: async (prepared) => {
      await prepared.create({ kind: 'ClusterRole', body: { metadata: { name: 'part', labels }, rules } })
    },
  })
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: labels }] }
  await api.create({ kind: 'ClusterRole', body: { metadata: { name: 'whole' }, aggregationRule, rules } })
  await rest(api)
  const read = async (): Promise<unknown> =>
    (await api.get({ kind: 'ClusterRole', name: 'whole' })).object['rules']
  assert.deepEqual(await read(), rules)
  use(keys)
  const body = { metadata: { name: 'other', labels }, rules: [{ ...rules[0], verbs: ['list'] }] }
  await api.create({ kind: 'ClusterRole', body })
  for (let round = 0; round < 5; round++) await rest(api)
  assert.deepEqual(await read(), [...body.rules, ...rules])
})

void test('a namespace stays while definitions of custom kinds, whose objects it may have, cannot be decrypted', async (t) => {
  const resource = 'customresourcedefinitions.apiextensions.orch.io'
  const keys = keysOf(resource, two, one)
  const { api, use } = await leader(t, {
    ...{ enabled: ['namespace'], keys, lacking: keysOf(resource, one) },
    prepare: async (prepared) => {
      await prepared.create({ kind: 'CustomResourceDefinition', body: customDefinition(namesOf('orch.io')) })
      await prepared.create({ kind: 'Namespace', body: { metadata: { name: 'n1' } } })
    },
  })
  await api.delete({ kind: 'Namespace', name: 'n1' })
  await rest(api)
  assert.ok((await namesOfKind(api, 'Namespace')).includes('n1'))
  use(keys)
  for (let round = 0; round < 5; round++) await rest(api)
  assert.ok(!(await namesOfKind(api, 'Namespace')).includes('n1'))
})

void test('no name of a custom kind is given away while a definition that may have it cannot be decrypted', async (t) => {
  const resource = 'customresourcedefinitions.apiextensions.orch.io'
  const keys = keysOf(resource, two, one)
  const { api, use } = await leader(t, {
    ...{ enabled: [], keys, lacking: keysOf(resource, one) },
    prepare: async (prepared) => {
      const names = { shortNames: ['short'] }
      const body = customDefinition(namesOf('orch.io'), { names })
      await prepared.create({ kind: 'CustomResourceDefinition', body })
    },
  })
  const body = customDefinition(namesOf('orch.io'), { kind: 'Gadget', names: { shortNames: ['short'] } })
  await api.create({ kind: 'CustomResourceDefinition', body })
  await rest(api)
  const status = async (name: string): Promise<string> =>
    JSON.stringify((await api.get({ kind: 'CustomResourceDefinition', name })).object['status'] ?? null)
  assert.doesNotMatch(await status('gadgets.example.com'), /"short"/)
  use(keys)
  for (let round = 0; round < 5; round++) await rest(api)
  const both = [await status('gadgets.example.com'), await status('widgets.example.com')]
  assert.equal(both.filter((one) => one.includes('"shortNames":["short"]')).length, 1)
})
