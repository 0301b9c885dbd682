/*
 * Goal: the first command of a cluster stores the objects that every cluster has exactly as the
 * server's own client would create them, and stores no object in plain text whose kind is
 * encrypted.
 * Method: the operations for both domains, compared with objects that the shipped verbs created.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutMembers } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { foundingOperations } from '../../../../src/app/founding.ts'
import { initialObjectsOf } from '../../../../src/app/controllers/policy.ts'
import { defaultPolicy } from '../../../../src/auth/bootstrap/default-policy.ts'
import { policyObjects } from '../../../../src/auth/bootstrap/policy-objects.ts'
import { newObject } from '../../../../src/controllers/initial-objects.ts'
import { WholeSchemas } from '../../../../src/registry/calls/verb-dependencies.ts'
import type { AnyObject, ResourceDefinition } from '../../../../src/registry/kinds/definition.ts'
import { parseBytes } from '../../../../src/registry/kinds/encode.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import type { Key } from '../../../../src/store/key.ts'
import { partsOf } from '../../../../src/store/key.ts'
import type { Operation } from '../../../../src/store/command.ts'
import { featureLevelMax } from '../../../../src/version.ts'
import { Fixture } from '../registry/fixture.ts'

const noKey = (): boolean => false

function operationsOf(api: Fixture, isEncrypted: (key: Key) => boolean): readonly Operation[] {
  const { clock, random, names, catalog } = api
  return foundingOperations({
    ...{ clock, random, names, catalog, isEncrypted },
    schemas: new WholeSchemas(),
    policy: policyObjects(names, defaultPolicy(names)),
    featureLevel: featureLevelMax,
  })
}

/** Creates the objects with the server's own client. */
async function createAll(api: Fixture): Promise<void> {
  const { clock, registry, names, catalog } = api
  const user = { name: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} }
  const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
  const find = (group: string, version: string, plural: string): ResourceDefinition => {
    const found = catalog.find(group, version, plural)
    assert.ok(found)
    return found
  }
  for (const initial of initialObjectsOf(names, catalog)) {
    const { group, version, plural } = initial
    await client.create(find(group, version, plural), null, newObject(initial))
  }
  for (const { plural, object } of policyObjects(names, defaultPolicy(names))) {
    const { namespace = null } = object.metadata
    await client.create(find(names.group('rbac.authorization'), 'v1', plural), namespace, object)
  }
}

/** Returns the JSON of an object without uid and version. The order of members counts. */
function comparable(object: AnyObject): string {
  return JSON.stringify({ ...object, metadata: withoutMembers(object.metadata, 'uid', 'resourceVersion') })
}

for (const domain of ['orch.io', 'k8s.io'] satisfies ApiDomain[]) {
  void test(`the founding stores the objects of ${domain} as the client of the server creates them`, async (t) => {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    await createAll(api)
    const operations = operationsOf(api, noKey)
    assert.ok(operations.length > 170, `${operations.length} operations`)
    assert.equal(new Set(operations.map(({ key }) => key)).size, operations.length)
    for (const operation of operations) {
      const { key } = operation
      assert.ok(operation.kind === 'put', key)
      assert.deepEqual(operation.conditions, [{ kind: 'absent' }])
      const stored = api.store.view().get(key)
      assert.ok(stored, key)
      assert.equal(comparable(parseBytes(operation.object.bytes)), comparable(parseBytes(stored.bytes)))
    }
  })
}

void test('the founding leaves objects of encrypted kinds to the controllers', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const group = namesOf('k8s.io').group('rbac.authorization')
  const isEncrypted = (key: Key): boolean => partsOf(key).group === group
  const all = operationsOf(api, noKey)
  const plain = operationsOf(api, isEncrypted)
  assert.ok(plain.length > 10 && plain.length < all.length)
  assert.ok(!plain.some(({ key }) => isEncrypted(key)))
})
