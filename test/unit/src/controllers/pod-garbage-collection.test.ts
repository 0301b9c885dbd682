/*
 * Goal: Pods whose node is gone are deleted, and the oldest of too many ended ones; no others.
 * Method: the shipped controller and verbs of one member that leads, and a clock that moves by
 * hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { memberOf } from '../../../../src/api/json.ts'
import { lead, rest } from '../app/leading-member.ts'
import type { Fixture } from '../registry/fixture.ts'
import { Gate } from './definition-member.ts'

function open(t: TestContext, endedPodsMax = 0): Promise<Fixture> {
  return lead(t, { domain: 'orch.io', enabled: ['podgc', 'namespace'], endedPodsMax })
}

async function pod(api: Fixture, name: string, nodeName: string | null, more: object = {}): Promise<void> {
  const containers = [{ name: 'c', image: 'i' }]
  const spec = { containers, ...(nodeName === null ? {} : { nodeName }) }
  await api.create({ kind: 'Pod', body: { metadata: { name, ...more }, spec } })
}

async function node(api: Fixture, name: string): Promise<void> {
  await api.create({ kind: 'Node', body: { metadata: { name } } })
}

async function podsLeft(api: Fixture): Promise<readonly string[]> {
  const { items } = await api.list({ kind: 'Pod', namespace: null })
  return items.map(({ metadata }) => metadata.name ?? '')
}

async function seconds(api: Fixture, count: number): Promise<void> {
  for (let at = 0; at < count / 10; at++) await rest(api)
}

void test('Pods of a node that is gone are deleted after 40 s; those of other nodes and of none stay', async (t) => {
  const api = await open(t)
  for (const name of ['n1', 'n2']) await node(api, name)
  for (const at of [1, 2, 3]) await pod(api, `on-n1-${at}`, 'n1')
  await pod(api, 'on-n2', 'n2')
  await pod(api, 'waiting', null)
  await seconds(api, 60)
  const all = ['on-n1-1', 'on-n1-2', 'on-n1-3', 'on-n2', 'waiting']
  assert.deepEqual(await podsLeft(api), all)
  await api.delete({ kind: 'Node', name: 'n1' })
  await seconds(api, 30)
  assert.deepEqual(await podsLeft(api), all)
  await seconds(api, 30)
  assert.deepEqual(await podsLeft(api), ['on-n2', 'waiting'])
})

void test('a node that is registered in time keeps its Pods, and the time begins again when it goes', async (t) => {
  const api = await open(t)
  await pod(api, 'early', 'n1')
  await seconds(api, 30)
  await node(api, 'n1')
  await seconds(api, 60)
  assert.deepEqual(await podsLeft(api), ['early'])
  await api.delete({ kind: 'Node', name: 'n1' })
  await seconds(api, 20)
  assert.deepEqual(await podsLeft(api), ['early'])
  await seconds(api, 40)
  assert.deepEqual(await podsLeft(api), [])
})

void test('the deletion stops when the node comes back', async (t) => {
  let deletions = 0
  const registered: Promise<void>[] = []
  const admission = admissionChain([
    {
      name: 'Register',
      validate: ({ operation }) => {
        if (operation !== 'DELETE') return
        deletions++
        if (registered.length === 0) registered.push(node(api, 'n1'))
      },
    },
  ])
  const api: Fixture = await lead(t, { domain: 'orch.io', enabled: ['podgc'], admission })
  for (let at = 0; at < 200; at++) await pod(api, `p${at}`, 'n1')
  await seconds(api, 120)
  await Promise.all(registered)
  const left = (await podsLeft(api)).length
  assert.ok(deletions > 0 && left > 0, `${deletions} deletions, ${left} Pods`)
})

void test('a leader that stalled before its deletion leaves a Pod whose node has come back', async (t) => {
  const gate = new Gate()
  const wrap = gate.before.bind(gate)
  const api = await lead(t, { domain: 'orch.io', enabled: ['podgc'], wrap })
  await pod(api, 'p', 'n1')
  gate.close((key) => key.startsWith('/pods/'))
  await seconds(api, 50)
  await gate.held
  await node(api, 'n1')
  gate.open()
  await seconds(api, 50)
  assert.deepEqual(await podsLeft(api), ['p'])
})

void test('a Pod of an absent node that finalizers keep is marked, and goes with the last of them', async (t) => {
  const api = await open(t)
  await pod(api, 'held', 'n1', { finalizers: ['x.io/a'] })
  await seconds(api, 60)
  const { metadata } = (await api.get({ kind: 'Pod', name: 'held' })).object
  assert.equal(memberOf(metadata, 'deletionGracePeriodSeconds'), 0)
  const { revision } = api.store.view()
  await seconds(api, 60)
  assert.equal(api.store.view().revision, revision, 'nothing is written again')
  await api.patch({ kind: 'Pod', name: 'held', body: { metadata: { finalizers: null } } })
  assert.deepEqual(await podsLeft(api), [])
})

void test('a namespace with a Pod that no node will end is removed', async (t) => {
  const api = await open(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'gone' }
  await api.create({ kind: 'Pod', namespace: 'n', body: { metadata: { name: 'p' }, spec } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  await seconds(api, 10)
  assert.deepEqual(await podsLeft(api), ['p'])
  await seconds(api, 120)
  const { items } = await api.list({ kind: 'Namespace' })
  assert.ok(items.every(({ metadata }) => metadata.name !== 'n'))
})

void test('of too many Pods that have ended the oldest are deleted', async (t) => {
  const api = await open(t, 3)
  await node(api, 'n1')
  const end = (name: string, phase: string) =>
    api.patch({ kind: 'Pod', name, subresource: 'status', body: { status: { phase } } })
  await pod(api, 'running', 'n1')
  for (const name of ['f', 'e', 'd', 'c', 'b', 'a']) {
    await pod(api, name, 'n1')
    api.clock.advance(2000)
  }
  for (const name of ['a', 'b', 'c']) await end(name, 'Succeeded')
  await seconds(api, 60)
  assert.equal((await podsLeft(api)).length, 7)
  for (const name of ['d', 'e', 'f']) await end(name, 'Failed')
  await seconds(api, 60)
  assert.deepEqual(await podsLeft(api), ['a', 'b', 'c', 'running'])
})
