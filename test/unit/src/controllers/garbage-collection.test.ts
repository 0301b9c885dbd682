/*
 * Goal: dependents are deleted, kept or orphaned as the policy of each deletion demands, also when
 * the leader changes. Method: the shipped controller on the shipped verbs; random graphs of owners
 * against a naive evaluator.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { textMember } from '../../../../src/api/json.ts'
import { garbageCollection } from '../../../../src/controllers/garbage-collection.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import type { LocalClientOptions } from '../../../../src/registry/local-client.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Got, Obj } from '../registry/fixture.ts'

type Running = { readonly close: () => void }

/** Fails deletions after the first ones, like a leader that has lost its quorum. */
class LimitedClient extends LocalClient {
  #left: number

  constructor(options: LocalClientOptions, deletionsMax: number) {
    super(options)
    this.#left = deletionsMax
  }

  override async delete(...call: Parameters<LocalClient['delete']>): Promise<void> {
    if (this.#left-- <= 0) throw new Error('the quorum is lost')
    await super.delete(...call)
  }
}

/** Starts the controller of a member that leads. */
function lead(api: Fixture, errors: unknown[], deletionsMax = Infinity): Running {
  const { clock, catalog, registry, store } = api
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const client = new LimitedClient({ registry, clock, user, timeoutMs: 10_000 }, deletionsMax)
  const onError = (key: string, cause: unknown) => void errors.push([key, cause])
  const { controller, informer } = garbageCollection({
    ...{ clock, catalog, store, client, onError },
    timeoutMs: 10_000,
    kindsApplied: () => Promise.resolve(),
  })
  informer.start()
  controller.start()
  return {
    close: () => {
      controller.stop()
      informer.close()
    },
  }
}

async function settle(api: Fixture, rounds = 30): Promise<void> {
  for (let at = 0; at < rounds; at++) {
    for (let one = 0; one < 20; one++) await turn()
    api.clock.advance(500)
  }
}

async function opened(t: TestContext): Promise<{ readonly api: Fixture; readonly errors: unknown[] }> {
  const api = await Fixture.open()
  const errors: unknown[] = []
  const member = lead(api, errors)
  t.after(() => {
    member.close()
    return api.close()
  })
  return { api, errors }
}

const referenceTo = (owner: Obj, blockOwnerDeletion = true) => ({
  ...{ apiVersion: owner.apiVersion, kind: owner.kind, blockOwnerDeletion },
  ...{ name: owner.metadata.name, uid: owner.metadata.uid },
})

function owned(api: Fixture, name: string, owners: readonly object[], more: object = {}): Promise<Got> {
  return api.create({ body: { metadata: { name, ownerReferences: owners as never, ...more } } })
}

async function namesLeft(api: Fixture): Promise<readonly string[]> {
  return (await api.list({ namespace: null })).items.map(({ metadata }) => metadata.name).sort()
}

void test('a Background deletion removes the owner at once and its dependents after it', async (t) => {
  const { api, errors } = await opened(t)
  const { object: owner } = await api.configMap('owner')
  const { object: child } = await owned(api, 'child', [referenceTo(owner)])
  await owned(api, 'grandchild', [referenceTo(child)])
  await api.configMap('other')
  await settle(api, 3)
  assert.deepEqual(await namesLeft(api), ['child', 'grandchild', 'other', 'owner'])
  assert.equal((await api.delete({ name: 'owner' })).code, 200)
  await settle(api)
  assert.deepEqual(await namesLeft(api), ['other'])
  assert.deepEqual(errors, [])
})

void test('a Foreground deletion removes blocking dependents first and does not wait for others', async (t) => {
  const { api } = await opened(t)
  const { object: owner } = await api.configMap('owner')
  await owned(api, 'blocking', [referenceTo(owner)], { finalizers: ['x.io/a'] })
  await owned(api, 'free', [referenceTo(owner, false)], { finalizers: ['x.io/a'] })
  assert.equal((await api.delete({ name: 'owner', query: { propagationPolicy: 'Foreground' } })).code, 202)
  await settle(api)
  assert.deepEqual(await namesLeft(api), ['blocking', 'free', 'owner'])
  for (const name of ['blocking', 'free'])
    assert.equal(typeof (await api.get({ name })).object.metadata.deletionTimestamp, 'string', name)
  await api.patch({ name: 'blocking', body: { metadata: { finalizers: null } } })
  await settle(api)
  assert.deepEqual(await namesLeft(api), ['free'])
})

void test('an Orphan deletion keeps the dependents without their reference', async (t) => {
  const { api } = await opened(t)
  const { object: owner } = await api.configMap('owner')
  const { object: second } = await api.configMap('second')
  await owned(api, 'one', [referenceTo(owner)])
  await owned(api, 'two', [referenceTo(owner), referenceTo(second)])
  await api.delete({ name: 'owner', query: { propagationPolicy: 'Orphan' } })
  await settle(api)
  assert.deepEqual(await namesLeft(api), ['one', 'second', 'two'])
  const owners = async (name: string) =>
    ((await api.get({ name })).object.metadata as { ownerReferences?: { uid: string }[] }).ownerReferences
  assert.equal(await owners('one'), undefined)
  assert.deepEqual(
    (await owners('two'))?.map(({ uid }) => uid),
    [second.metadata.uid],
  )
})

void test('an object with another owner stays and loses only the reference to the deleted one', async (t) => {
  const { api } = await opened(t)
  const { object: a } = await api.configMap('a')
  const { object: b } = await api.configMap('b')
  await owned(api, 'child', [referenceTo(a), referenceTo(b)])
  await api.delete({ name: 'a', query: { propagationPolicy: 'Foreground' } })
  await settle(api)
  assert.deepEqual(await namesLeft(api), ['b', 'child'])
  await api.delete({ name: 'b' })
  await settle(api)
  assert.deepEqual(await namesLeft(api), [])
})

void test('owners that wait for each other in a circle are all deleted', async (t) => {
  const { api } = await opened(t)
  const { object: a } = await api.configMap('a')
  const { object: b } = await owned(api, 'b', [referenceTo(a)])
  const { object: c } = await owned(api, 'c', [referenceTo(b)])
  await api.patch({ name: 'a', body: { metadata: { ownerReferences: [referenceTo(c)] } } })
  await api.delete({ name: 'a', query: { propagationPolicy: 'Foreground' } })
  await settle(api, 100)
  assert.deepEqual(await namesLeft(api), [])
})

void test('owners in a circle that are all deleted in the foreground do not wait for each other forever', async (t) => {
  const { api } = await opened(t)
  const { object: a } = await api.configMap('a')
  const { object: b } = await owned(api, 'b', [referenceTo(a)])
  const { object: c } = await owned(api, 'c', [referenceTo(b)])
  await api.patch({ name: 'a', body: { metadata: { ownerReferences: [referenceTo(c)] } } })
  const { object: self } = await api.configMap('self')
  await api.patch({ name: 'self', body: { metadata: { ownerReferences: [referenceTo(self)] } } })
  const { object: waiting } = await owned(api, 'waiting', [referenceTo(self)])
  await owned(api, 'kept', [referenceTo(waiting)], { finalizers: ['x.io/a'] })
  const { object: free } = await api.configMap('free')
  const ownerReferences = [referenceTo(free, false)]
  await api.patch({ name: 'free', body: { metadata: { ownerReferences } } })
  await owned(api, 'blocks-free', [referenceTo(free)], { finalizers: ['x.io/a'] })
  for (const name of ['a', 'b', 'c', 'self', 'free'])
    await api.delete({ name, query: { propagationPolicy: 'Foreground' } })
  await settle(api, 100)
  assert.deepEqual(await namesLeft(api), ['blocks-free', 'free', 'kept', 'self', 'waiting'])
  await api.patch({ name: 'blocks-free', body: { metadata: { finalizers: null } } })
  await api.patch({ name: 'kept', body: { metadata: { finalizers: null } } })
  await settle(api, 100)
  assert.deepEqual(await namesLeft(api), [])
})

void test('an object stays while one reference leads to its owner, whatever objects other references with the same uid name', async (t) => {
  const { api } = await opened(t)
  const { object: owner } = await api.configMap('owner')
  const right = referenceTo(owner)
  await owned(api, 'wrong-name', [right, { ...right, name: 'other' }])
  await owned(api, 'wrong-kind', [{ ...right, kind: 'Secret' }, right])
  await owned(api, 'unknown-kind', [
    { ...right, kind: 'Nothing' },
    { ...right, name: 'other' },
  ])
  await settle(api)
  assert.deepEqual(await namesLeft(api), ['owner', 'unknown-kind', 'wrong-kind', 'wrong-name'])
  for (const name of ['wrong-name', 'wrong-kind'])
    assert.deepEqual((await api.get({ name })).object.metadata['ownerReferences' as 'labels'], [right], name)
  await api.delete({ name: 'owner' })
  await settle(api)
  assert.deepEqual(await namesLeft(api), [])
})

void test('an owner is the object with the uid, in the namespace of the dependent or in none', async (t) => {
  const { api } = await opened(t)
  const { object: owner } = await api.configMap('owner')
  const reference = referenceTo(owner)
  const node = await api.create({ kind: 'Namespace', body: { metadata: { name: 'other' } } })
  await owned(api, 'right', [reference])
  await owned(api, 'cluster-scoped-owner', [referenceTo(node.object)])
  await owned(api, 'unknown-kind', [{ ...reference, kind: 'Nothing' }])
  await owned(api, 'wrong-uid', [{ ...reference, uid: 'other' }])
  await owned(api, 'wrong-name', [{ ...reference, name: 'a/b' }])
  const elsewhere = { metadata: { name: 'elsewhere', ownerReferences: [reference] } }
  await api.create({ namespace: 'other', body: elsewhere })
  const role = { metadata: { name: 'cluster-scoped', ownerReferences: [reference] }, rules: [] }
  await api.create({ kind: 'ClusterRole', body: role })
  await settle(api)
  assert.deepEqual(await namesLeft(api), ['cluster-scoped-owner', 'owner', 'right', 'unknown-kind'])
  assert.equal((await api.get({ kind: 'ClusterRole', name: 'cluster-scoped' })).code, 200)
})

type Reported = readonly (readonly [string, string, string])[]

/** Returns the events of the collector: namespace, object, message. */
async function reported(api: Fixture): Promise<Reported> {
  const { items } = await api.list({ kind: 'Event', namespace: null })
  return items.map((event) => {
    assert.deepEqual([event['reason'], event['type']], ['OwnerRefInvalidNamespace', 'Warning'])
    const involved = event['involvedObject'] as { kind: string; name: string }
    return [
      event.metadata['namespace' as 'name'],
      `${involved.kind} ${involved.name}`,
      textMember(event, 'message'),
    ] as const
  })
}

void test('an owner in another namespace than its dependent is reported, by a warning and an event', async (t) => {
  const { api, errors } = await opened(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'other' } } })
  const { object: owner } = await api.configMap('owner')
  const { object: gone } = await api.configMap('gone')
  await api.delete({ name: 'gone' })
  const reference = referenceTo(owner)
  const { uid } = owner.metadata
  await owned(api, 'right', [reference])
  await owned(api, 'of-gone', [referenceTo(gone)])
  assert.deepEqual(api.warnings, [])
  const role = { metadata: { name: 'role', ownerReferences: [reference] }, rules: [] }
  await api.create({ kind: 'ClusterRole', body: role })
  const misplaced =
    'metadata.ownerReferences[0]: the owner ConfigMap "owner" is in a namespace, and this object is not: ' +
    'it will not be deleted with its owner'
  assert.deepEqual(api.warnings.splice(0), [misplaced])
  await api.create({ namespace: 'other', body: { metadata: { name: 'far', finalizers: ['x.io/a'] } } })
  const body = { metadata: { ownerReferences: [reference] } }
  for (const query of [{ dryRun: 'All' }, {}]) {
    await api.patch({ namespace: 'other', name: 'far', body, query })
    assert.deepEqual(api.warnings.splice(0), [
      'metadata.ownerReferences[0]: the owner ConfigMap "owner" does not exist in namespace "other": ' +
        'this object will be garbage collected',
    ])
  }
  await settle(api)
  const known = (namespace: string) =>
    `ownerRef [v1/ConfigMap, namespace: ${namespace}, name: owner, uid: ${uid}] does not exist in namespace "${namespace}"`
  const expected: Reported = [
    ['default', 'ClusterRole role', known('')],
    ['other', 'ConfigMap far', known('other')],
  ]
  assert.deepEqual(await reported(api), expected)
  assert.deepEqual(await namesLeft(api), ['far', 'owner', 'right'])
  assert.equal(
    typeof (await api.get({ namespace: 'other', name: 'far' })).object.metadata.deletionTimestamp,
    'string',
  )
  // Each reference has one event, whatever is written later.
  await api.patch({ kind: 'ClusterRole', name: 'role', body: { metadata: { labels: { a: 'b' } } } })
  await api.delete({ name: 'owner' })
  await settle(api)
  assert.deepEqual(await reported(api), expected)
  assert.equal((await api.get({ kind: 'ClusterRole', name: 'role' })).code, 200)
  assert.deepEqual([api.warnings, errors], [[], []])
})

void test('an event that cannot be stored does not keep a dependent from being deleted', async (t) => {
  const { api, errors } = await opened(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'other', finalizers: ['x.io/a'] } } })
  const { object: owner } = await api.configMap('owner')
  await api.create({ namespace: 'other', body: { metadata: { name: 'far', finalizers: ['x.io/a'] } } })
  await api.delete({ kind: 'Namespace', name: 'other' })
  const ownerReferences = [referenceTo(owner)]
  await api.patch({ namespace: 'other', name: 'far', body: { metadata: { ownerReferences } } })
  await settle(api)
  const far = await api.get({ namespace: 'other', name: 'far' })
  assert.equal(typeof far.object.metadata.deletionTimestamp, 'string')
  assert.equal(errors.length, 1, 'the event is refused: the namespace is being deleted')
})

void test('a leader that is lost half-way leaves the rest to the next one', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const errors: unknown[] = []
  const { object: owner } = await api.configMap('owner')
  for (let at = 0; at < 40; at++) await owned(api, `child-${at}`, [referenceTo(owner)])
  const first = lead(api, [], 15)
  await api.delete({ name: 'owner', query: { propagationPolicy: 'Foreground' } })
  await settle(api, 3)
  first.close()
  await settle(api, 3)
  const left = await namesLeft(api)
  assert.ok(left.includes('owner'))
  assert.equal(left.length, 26)
  const second = lead(api, errors)
  await settle(api, 60)
  assert.deepEqual(await namesLeft(api), [])
  assert.equal((await refused(api.get({ name: 'owner' }))).code, 404)
  second.close()
  assert.deepEqual(errors, [])
})

/** The names that remain: an object goes when it was deleted, or once all its owners are gone. */
function expectedNames(
  graph: ReadonlyMap<string, readonly string[]>,
  deletions: readonly (readonly [string, string])[],
): readonly string[] {
  const owners = new Map([...graph].map(([name, of]) => [name, new Set(of)]))
  const collect = (name: string, orphans: boolean): void => {
    if (!owners.delete(name)) return
    for (const [child, of] of [...owners]) {
      if (!of.delete(name)) continue
      if (!orphans && of.size === 0) collect(child, false)
    }
  }
  for (const [name, policy] of deletions) collect(name, policy === 'Orphan')
  return [...owners.keys()].sort()
}

for (let seed = 1; seed <= 25; seed++) {
  void test(`random owners and deletions end as in a naive evaluator, seed ${seed}`, async (t) => {
    const api = await Fixture.open()
    t.after(() => api.close())
    const errors: unknown[] = []
    let member = lead(api, errors)
    const random = new SeededRandom(seed)
    const graph = new Map<string, readonly string[]>()
    const objects: Obj[] = []
    for (let at = 0; at < 25; at++) {
      const owners = objects.filter(() => random.below(8) === 0).slice(0, 3)
      const { object } = await owned(
        api,
        `o${at}`,
        owners.map((owner) => referenceTo(owner, random.below(2) === 0)),
      )
      objects.push(object)
      graph.set(
        `o${at}`,
        owners.map(({ metadata }) => metadata.name),
      )
    }
    const deletions: (readonly [string, string])[] = []
    for (let at = 0; at < 4; at++) {
      const left = await namesLeft(api)
      const name = left[random.below(Math.max(1, left.length))]
      if (name === undefined) break
      const propagationPolicy = ['Background', 'Foreground', 'Orphan'][random.below(3)] ?? ''
      deletions.push([name, propagationPolicy])
      await api.delete({ name, query: { propagationPolicy } })
      for (let some = random.below(30); some > 0; some--) await turn()
      if (random.below(2) === 0) {
        member.close()
        member = lead(api, errors)
      }
      await settle(api, 40)
    }
    member.close()
    assert.deepEqual(await namesLeft(api), expectedNames(graph, deletions), JSON.stringify(deletions))
    assert.deepEqual(errors, [])
  })
}
