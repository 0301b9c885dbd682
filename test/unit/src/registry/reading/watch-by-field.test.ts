/*
 * Goal: watches of one name, or of one value of a field, get exactly the matching events of an
 * unfiltered watch, and an event costs nothing for other watches. Method: the shipped verbs on the
 * state machine in memory; a kind whose field counts how often it is read; watches that wait.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { dataOf, thingKind } from '../../../../support/fixtures/thing-kind.ts'
import { Fixture } from '../fixture.ts'
import type { Event, Events } from '../fixture.ts'

function nodeOf(object: Event['object']): string {
  return dataOf(object, 'node')
}

function make(api: Fixture, name: string, node: string): Promise<unknown> {
  return api.create({
    kind: 'Thing',
    body: { apiVersion: 'v1', kind: 'Thing', metadata: { name }, data: { node } },
  })
}

function change(api: Fixture, name: string, data: { readonly [key: string]: string }): Promise<unknown> {
  return api.patch({ kind: 'Thing', name, body: { data } })
}

/** Reads when woken, as a connection does. */
class Follower {
  readonly reported: Event[] = []
  wakes = 0
  readonly #events: Events
  #closed = false

  constructor(events: Events) {
    this.#events = events
  }

  static async of(
    api: Fixture,
    fieldSelector: string,
    query: Record<string, string> = {},
  ): Promise<Follower> {
    const events = await api.watch({
      kind: 'Thing',
      query: { resourceVersion: '0', ...query, fieldSelector },
    })
    const follower = new Follower(events)
    await follower.#read()
    follower.#follow()
    return follower
  }

  words(): readonly string[] {
    return this.reported.map(({ type, object }) => `${type} ${object.metadata.name}`)
  }

  close(): void {
    this.#closed = true
    this.#events.stream.close()
  }

  #follow(): void {
    this.#events.stream.onMore(() => {
      if (this.#closed) return
      this.wakes++
      void this.#read().then(() => this.#follow())
    })
  }

  async #read(): Promise<void> {
    this.reported.push(...(await this.#events.now()))
  }
}

/** Waits until no watch has events left. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
}

void test('60 changes under 1,000 watches, each of another value, read each version once and wake only the watch of their value', async (t) => {
  let reads = 0
  const api = await Fixture.open({ extra: [thingKind(() => reads++)] })
  t.after(() => api.close())
  await make(api, 'a', 'n7')
  const followers: Follower[] = []
  for (let at = 0; at < 1000; at++) followers.push(await Follower.of(api, `data.node=n${at}`))
  reads = 0
  for (let at = 0; at < 60; at++) {
    await change(api, 'a', { at: String(at) })
    await settled()
  }
  // Each change reads its new version only: the previous one was read at the previous change.
  assert.equal(reads, 60)
  const woken = followers.filter(({ wakes }) => wakes > 0)
  assert.equal(woken.length, 1)
  assert.deepEqual([woken[0]?.wakes, woken[0]?.reported.length], [60, 61])
  for (const follower of followers) follower.close()
})

void test('60 changes under 1,000 watches, each of another name, read no field and wake only the watch of their name', async (t) => {
  let reads = 0
  const api = await Fixture.open({ extra: [thingKind(() => reads++)] })
  t.after(() => api.close())
  await make(api, 'n7', 'x')
  const followers: Follower[] = []
  for (let at = 0; at < 1000; at++) followers.push(await Follower.of(api, `metadata.name=n${at}`))
  reads = 0
  for (let at = 0; at < 60; at++) {
    await change(api, 'n7', { at: String(at) })
    await settled()
  }
  assert.equal(reads, 0)
  assert.deepEqual(
    followers.filter(({ wakes }) => wakes > 0).map(({ wakes, reported }) => [wakes, reported.length]),
    [[60, 61]],
  )
  for (const follower of followers) follower.close()
})

void test('an object whose selected field changes is DELETED in one watch at the new version and ADDED in another', async (t) => {
  const api = await Fixture.open({ extra: [thingKind()] })
  t.after(() => api.close())
  await make(api, 'a', 'n1')
  const [from, to, no] = [
    await Follower.of(api, 'data.node=n1'),
    await Follower.of(api, 'data.node=n2'),
    await Follower.of(api, 'data.node='),
  ]
  await change(api, 'a', { node: 'n2' })
  await settled()
  assert.deepEqual([from.words(), to.words(), no.words()], [['ADDED a', 'DELETED a'], ['ADDED a'], []])
  const [left, came] = [from.reported[1]?.object, to.reported[0]?.object]
  assert.deepEqual([nodeOf(left ?? assert.fail()), nodeOf(came ?? assert.fail())], ['n1', 'n2'])
  assert.equal(left?.metadata.resourceVersion, came?.metadata.resourceVersion)
  await api.patch({ kind: 'Thing', name: 'a', body: { data: { node: null } } })
  await settled()
  assert.deepEqual([to.words().at(-1), no.words()], ['DELETED a', ['ADDED a']])
  await api.delete({ kind: 'Thing', name: 'a' })
  await settled()
  assert.deepEqual([from.words().length, to.words().length, no.words()], [2, 2, ['ADDED a', 'DELETED a']])
  for (const follower of [from, to, no]) follower.close()
})

void test('spec 4.8: in both domains a node that can be scheduled again is DELETED in the watch of unschedulable ones', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    await api.create({ kind: 'Node', body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } } })
    const events = await api.watch({ kind: 'Node', query: { fieldSelector: 'spec.unschedulable=true' } })
    assert.deepEqual(await events.words(), [])
    for (const unschedulable of [true, false]) {
      const woken = events.more()
      await api.patch({ kind: 'Node', name: 'a', body: { spec: { unschedulable } } })
      await woken
      assert.deepEqual(await events.words(), [unschedulable ? 'ADDED a' : 'DELETED a'], domain)
    }
    events.stream.close()
  }
})

void test('watches by field of either group of events, one of which is converted, get the matching event only', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const kinds = ['v1/Event', 'events.k8s.io/v1/Event']
  const watches: Events[] = []
  for (const kind of kinds) {
    const events = await api.watch({ kind, query: { fieldSelector: 'reason=Started' } })
    assert.deepEqual(await events.words(), [])
    watches.push(events)
  }
  const woken = watches.map((events) => events.more())
  for (const [name, reason] of [
    ['other', 'Killed'],
    ['mine', 'Started'],
  ] as const) {
    const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' }
    const body = { apiVersion: 'v1', kind: 'Event', metadata: { name }, involvedObject, reason }
    await api.create({ kind: 'v1/Event', body })
  }
  await Promise.all(woken)
  for (const events of watches) {
    assert.deepEqual(await events.words(), ['ADDED mine'])
    events.stream.close()
  }
})

for (let seed = 1; seed <= 20; seed++) {
  void test(`random changes, seed ${seed}: a watch of one value gets the matching events of a watch of everything`, async (t) => {
    const random = new SeededRandom(seed)
    const api = await Fixture.open({ extra: [thingKind()] })
    t.after(() => api.close())
    const nodes = ['', 'n1', 'n2', 'n3']
    const names = ['a', 'b', 'c']
    const pick = <T>(of: readonly T[]): T => of[random.below(of.length)] as T
    const everything = await Follower.of(api, '')
    const followers: { readonly node: string; readonly follower: Follower }[] = []
    const from = String(api.store.view().revision)
    for (const node of nodes) {
      const follower = await Follower.of(api, `data.node=${node}`, { resourceVersion: from })
      followers.push({ node, follower })
    }
    for (let step = 0; step < 40; step++) {
      const name = pick(names)
      const call =
        random.below(4) === 0 ? api.delete({ kind: 'Thing', name }) : change(api, name, { node: pick(nodes) })
      await call.catch(() => make(api, name, pick(nodes)))
      if (random.below(3) === 0) await settled()
    }
    await settled()
    for (const { node, follower } of followers) {
      const wanted = expected(everything.reported, node)
      assert.deepEqual(brief(follower.reported), wanted, `at ${node}`)
      const resumed = await Follower.of(api, `data.node=${node}`, { resourceVersion: from })
      assert.deepEqual(brief(resumed.reported), wanted, `at ${node}, resumed`)
      for (const one of [follower, resumed]) one.close()
    }
    everything.close()
  })
}

function brief(events: readonly Event[]): readonly string[] {
  return events.map(
    ({ type, object }) => `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`,
  )
}

/** The events that a client derives from a watch of everything for one value. */
function expected(all: readonly Event[], node: string): readonly string[] {
  const there = new Set<string>()
  const reported: string[] = []
  for (const { type, object } of all) {
    const { name, resourceVersion } = object.metadata
    const isMine = type !== 'DELETED' && nodeOf(object) === node
    const was = there.has(name)
    if (isMine) there.add(name)
    else there.delete(name)
    if (isMine) reported.push(`${was ? 'MODIFIED' : 'ADDED'} ${name} ${resourceVersion}`)
    else if (was) reported.push(`DELETED ${name} ${resourceVersion}`)
  }
  return reported
}
