/*
 * Goal: a list by field parses each version of an object once, and its objects are always those of
 * the state at its revision.
 * Method: the shipped verbs on the state machine in memory; a kind whose fields count how often
 * they are read; changes between lists and pages; the snapshot of another member.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { chunksOf } from '../../../../support/fixtures/store-machines.ts'
import { thingKind } from '../../../../support/fixtures/thing-kind.ts'
import { Fixture, refused } from '../fixture.ts'
import type { List } from '../fixture.ts'

const kind = 'Thing'

type Counted = { readonly api: Fixture; readonly reads: () => number }

/** @returns `reads`: the number of values that were read since it was called last */
async function open(t: TestContext): Promise<Counted> {
  let count = 0
  const api = await Fixture.open({ extra: [thingKind(() => count++)], limits: { sliceObjectsMax: 3 } })
  t.after(() => api.close())
  const reads = (): number => {
    const before = count
    count = 0
    return before
  }
  return { api, reads }
}

function make(api: Fixture, name: string, data: { readonly [member: string]: string }): Promise<unknown> {
  return api.create({ kind, body: { apiVersion: 'v1', kind, metadata: { name }, data } })
}

function change(api: Fixture, name: string, data: { readonly [member: string]: string }): Promise<unknown> {
  return api.patch({ kind, name, body: { data } })
}

function list(api: Fixture, fieldSelector: string, query: Record<string, string> = {}): Promise<List> {
  return api.list({ kind, query: { fieldSelector, ...query } })
}

async function namesBy(api: Fixture, fieldSelector: string, query: Record<string, string> = {}) {
  return namesOfItems(await list(api, fieldSelector, query))
}

function namesOfItems({ items }: List): readonly string[] {
  return items.map(({ metadata }) => metadata.name)
}

async function fill(api: Fixture): Promise<void> {
  for (let at = 0; at < 10; at++) await make(api, `t${at}`, { node: `n${at % 3}`, zone: `z${at % 2}` })
}

void test('lists by one field read each version once, whatever value they select', async (t) => {
  const { api, reads } = await open(t)
  await fill(api)
  assert.equal(reads(), 0)
  assert.deepEqual(await namesBy(api, 'data.node=n1'), ['t1', 't4', 't7'])
  assert.equal(reads(), 10)
  assert.deepEqual(await namesBy(api, 'data.node=n2', { resourceVersion: '0' }), ['t2', 't5', 't8'])
  assert.deepEqual(await namesBy(api, 'data.node!=n0', { limit: '2' }), ['t1', 't2'])
  assert.deepEqual(await namesBy(api, 'data.node=nothing'), [])
  assert.equal(reads(), 0)
  await change(api, 't1', { node: 'n2' })
  await api.delete({ kind, name: 't2' })
  assert.deepEqual(await namesBy(api, 'data.node=n1'), ['t4', 't7'])
  assert.deepEqual(await namesBy(api, 'data.node=n2'), ['t1', 't5', 't8'])
  assert.equal(reads(), 1)
})

void test('a list by a second field reads both fields of each version once, and later lists by either or both read nothing', async (t) => {
  const { api, reads } = await open(t)
  await fill(api)
  await namesBy(api, 'data.node=n1')
  reads()
  assert.deepEqual(await namesBy(api, 'data.zone=z1'), ['t1', 't3', 't5', 't7', 't9'])
  assert.equal(reads(), 20)
  assert.deepEqual(await namesBy(api, 'data.node=n1,data.zone=z1'), ['t1', 't7'])
  assert.deepEqual(await namesBy(api, 'data.zone=z0,metadata.name!=t4,data.node=n1'), [])
  assert.deepEqual(await namesBy(api, 'data.node=n0'), ['t0', 't3', 't6', 't9'])
  assert.equal(reads(), 0)
})

void test('a watch and a list read a version once together, and a deletecollection reads nothing more', async (t) => {
  const { api, reads } = await open(t)
  await fill(api)
  const events = await api.watch({ kind, query: { fieldSelector: 'data.node=n1' } })
  assert.deepEqual(await events.words(), ['ADDED t1', 'ADDED t4', 'ADDED t7'])
  assert.equal(reads(), 10)
  await change(api, 't1', { node: 'n0' })
  assert.deepEqual(await events.words(), ['DELETED t1'])
  assert.equal(reads(), 1)
  assert.deepEqual(await namesBy(api, 'data.node=n1'), ['t4', 't7'])
  await api.deleteCollection({ kind, query: { fieldSelector: 'data.node=n1' } })
  assert.deepEqual(await namesBy(api, 'data.node=n1'), [])
  assert.equal(reads(), 0)
  events.stream.close()
})

void test('spec 4.8.1: pages by field show the values at their version, not the present ones', async (t) => {
  const { api } = await open(t)
  await fill(api)
  const first = await list(api, 'data.node=n1', { limit: '1' })
  assert.deepEqual(namesOfItems(first), ['t1'])
  const then = first.metadata.resourceVersion
  await change(api, 't4', { node: 'n2' })
  await change(api, 't5', { node: 'n1' })
  await api.delete({ kind, name: 't7' })
  await make(api, 't7', { node: 'n0' })
  assert.deepEqual(await namesBy(api, 'data.node=n1'), ['t1', 't5'])
  const rest = await list(api, 'data.node=n1', { continue: first.metadata.continue ?? '' })
  assert.deepEqual(namesOfItems(rest), ['t4', 't7'])
  assert.equal(rest.metadata.resourceVersion, then)
  const exact = { resourceVersion: then, resourceVersionMatch: 'Exact' }
  assert.deepEqual(await namesBy(api, 'data.node=n1', exact), ['t1', 't4', 't7'])
  assert.deepEqual(await namesBy(api, 'data.node=n0', exact), ['t0', 't3', 't6', 't9'])
  await api.trim()
  const late = list(api, 'data.node=n1', { continue: first.metadata.continue ?? '' })
  assert.equal((await refused(late)).code, 410)
  assert.deepEqual(await namesBy(api, 'data.node=n1'), ['t1', 't5'])
})

void test('after the install of a snapshot, a list by field shows the values of the snapshot, even at the same revision', async (t) => {
  const [mine, other] = [await open(t), await open(t)]
  for (const name of ['a', 'b']) {
    await make(mine.api, name, { node: 'n1' })
    await make(other.api, name, { node: name === 'a' ? 'n2' : 'n1' })
  }
  assert.deepEqual(await namesBy(mine.api, 'data.node=n1'), ['a', 'b'])
  const before = await list(mine.api, '')
  // The snapshot must be newer than the memory that it replaces.
  await other.api.configMap('more')
  const source = await other.api.memory.machine.produceSnapshot(other.api.memory.machine.appliedMemory)
  const { machine } = mine.api.memory
  const sink = await machine.stageSnapshot(source.snapshot)
  for (const chunk of await chunksOf(source)) await sink.chunk(chunk)
  await sink.finish()
  await machine.installSnapshot(source.snapshot)
  const after = await list(mine.api, '')
  const versions = ({ items }: List) => items.map(({ metadata }) => metadata.resourceVersion)
  assert.deepEqual(versions(after), versions(before))
  assert.deepEqual(await namesBy(mine.api, 'data.node=n1'), ['b'])
  assert.deepEqual(await namesBy(mine.api, 'data.node=n2'), ['a'])
})

void test('two definitions of one kind with other values for a field do not share them', async (t) => {
  const { api } = await open(t)
  await make(api, 'a', { node: 'n1' })
  assert.deepEqual(await namesBy(api, 'data.node=n1'), ['a'])
  const changed = {
    ...api.definition(kind),
    selectableFields: [{ name: 'data.node', textOf: () => 'always' }],
  }
  const requested = (fieldSelector: string) =>
    api.registry.list({ ...api.request({ kind, query: { fieldSelector } }), definition: changed })
  for (const [selector, wanted] of [
    ['data.node=n1', 0],
    ['data.node=always', 1],
  ] as const) {
    const response = await requested(selector)
    assert.ok(response.kind === 'pieces')
    let text = ''
    for await (const piece of response.pieces) text += Buffer.from(piece).toString()
    assert.equal((JSON.parse(text) as List).items.length, wanted, selector)
  }
})

void test('a value longer than any selector can be is equal to no selected value', async (t) => {
  const { api } = await open(t)
  await make(api, 'long', { node: 'x'.repeat(20_000) })
  await make(api, 'short', { node: 'x'.repeat(100) })
  for (let times = 0; times < 2; times++) {
    assert.deepEqual(await namesBy(api, `data.node=${'x'.repeat(100)}`), ['short'])
    assert.deepEqual(await namesBy(api, `data.node=${'-'.repeat(16_000)}`), [])
    assert.deepEqual(await namesBy(api, `data.node!=${'x'.repeat(100)}`), ['long'])
    assert.deepEqual(await namesBy(api, 'data.node='), [])
  }
})

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`${domain}: lists of events by reason agree in either group, one of which is converted`, async (t) => {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' }
    for (const [name, reason] of [
      ['a', 'Started'],
      ['b', 'Killed'],
    ] as const) {
      const body = { apiVersion: 'v1', kind: 'Event', metadata: { name }, involvedObject, reason }
      await api.create({ kind: 'v1/Event', body })
    }
    const grouped = `${api.names.group('events')}/v1/Event`
    const listed = async (of: string, fieldSelector: string) =>
      namesOfItems(await api.list({ kind: of, query: { fieldSelector } }))
    for (let times = 0; times < 2; times++) {
      assert.deepEqual(await listed('v1/Event', 'reason=Started,involvedObject.name=p'), ['a'])
      assert.deepEqual(await listed(grouped, 'reason=Started,regarding.name=p'), ['a'])
      assert.deepEqual(await listed(grouped, 'reason!=Started,regarding.kind=Pod'), ['b'])
    }
    const body = { reason: 'Killed' }
    await api.patch({ kind: 'v1/Event', name: 'a', body })
    assert.deepEqual(await listed('v1/Event', 'reason=Killed'), ['a', 'b'])
    assert.deepEqual(await listed(grouped, 'reason=Killed'), ['a', 'b'])
  })
}
