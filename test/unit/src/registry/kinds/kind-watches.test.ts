/*
 * Goal: watches of a deleted kind end once they have sent all events; under a changed definition
 * they continue.
 * Method: custom kinds set directly in the catalog of the shipped verbs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { KindWatches } from '../../../../../src/registry/kinds/kind-watches.ts'
import { Catalog } from '../../../../../src/registry/kinds/catalog.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { Fixture } from '../fixture.ts'

const tabs = customKind({ group: 'stable.example.com', plural: 'crontabs', kind: 'CronTab' })
const others = customKind({ group: 'stable.example.com', plural: 'others', kind: 'Other' })

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  api.catalog.setCustom([tabs, others])
  return api
}

const named = (name: string) => ({ kind: 'CronTab', body: { metadata: { name } } })

void test('a watch of a deleted kind sends the last events and ends', async (t) => {
  const api = await open(t)
  await api.create(named('a'))
  const gone = await api.watch({ kind: 'CronTab' })
  const stays = await api.watch({ kind: 'Other' })
  const program = await api.watch({})
  assert.deepEqual(await gone.words(), ['ADDED a'])
  let woken = 0
  gone.stream.onMore(() => woken++)
  await api.deleteCollection({ kind: 'CronTab' })
  api.catalog.setCustom([others])
  await turn()
  assert.ok(woken > 0)
  assert.deepEqual(await gone.words(), ['DELETED a'])
  assert.ok(await gone.ended())
  await api.create({ kind: 'Other', body: { metadata: { name: 'b' } } })
  await api.configMap('c')
  assert.deepEqual(await stays.words(), ['ADDED b'])
  assert.deepEqual(await program.words(), ['ADDED c'])
  stays.stream.close()
  program.stream.close()
})

void test('a watch of a deleted kind sends all initial events before it ends', async (t) => {
  const api = await open(t)
  for (const name of ['a', 'b', 'c']) await api.create(named(name))
  const events = await api.watch({ kind: 'CronTab' })
  api.catalog.setCustom([])
  await turn()
  assert.deepEqual(await events.words(), ['ADDED a', 'ADDED b', 'ADDED c'])
  assert.ok(await events.ended())
})

void test('a watch continues under another definition of the same kind, and ends with the next kind of that name', async (t) => {
  const api = await open(t)
  const events = await api.watch({ kind: 'CronTab' })
  const changed: ResourceDefinition = {
    ...tabs,
    schema: { type: 'object', properties: { other: { type: 'any' } } },
  }
  api.catalog.setCustom([changed])
  await turn()
  await api.create(named('a'))
  assert.deepEqual(await events.words(), ['ADDED a'])
  assert.ok(!(await events.ended()))
  api.catalog.setCustom([{ ...tabs, custom: { uid: 'uid-2', listKind: 'CronTabList', published: null } }])
  await turn()
  assert.ok(await events.ended())
})

void test('a watch at a future version ends with its kind, as does one whose kind was deleted while it began', async (t) => {
  const api = await open(t)
  const { object } = await api.create(named('a'))
  const resourceVersion = String(Number(object.metadata.resourceVersion) + 100)
  const events = await api.watch({ kind: 'CronTab', query: { resourceVersion } })
  const request = api.request({ kind: 'CronTab' })
  api.catalog.setCustom([])
  await turn()
  assert.ok(await events.ended())
  const late = await api.registry.watch(request)
  assert.ok(late.kind === 'watch')
  await turn()
  let last: Uint8Array | null = new Uint8Array(1)
  while (last !== null && last.length > 0) last = await late.stream.next()
  assert.equal(last, null)
})

void test('a list in progress continues with the definition it began with', async (t) => {
  const api = await open(t)
  for (const name of ['a', 'b', 'c']) await api.create(named(name))
  const answer = await api.registry.list(api.request({ kind: 'CronTab' }))
  api.catalog.setCustom([])
  assert.equal(answer.kind, 'pieces')
  const pieces: Uint8Array[] = []
  if (answer.kind === 'pieces')
    for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) pieces.push(piece)
  const list = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { readonly items: readonly object[] }
  assert.equal(list.items.length, 3)
})

void test('watches of a deleted kind end a hundred per turn, each once, and closed ones not at all', async () => {
  const clock = new ManualClock()
  const catalog = new Catalog([])
  catalog.setCustom([tabs])
  const watches = new KindWatches(catalog, clock)
  let ended = 0
  const leave = Array.from({ length: 251 }, () => watches.add(tabs, () => ended++))
  leave[0]?.()
  catalog.setCustom([])
  assert.equal(ended, 100)
  await clock.advance(0)
  assert.equal(ended, 250)
  for (const one of leave) one()
  catalog.setCustom([tabs])
  catalog.setCustom([])
  assert.equal(ended, 250)
})
