/*
 * Goal: the annotation with the template generation of a DaemonSet follows its template as in
 * upstream 1.24, whatever clients send: else its controller takes old Pods for current ones.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { Fixture, refused } from '../../registry/fixture.ts'
import type { Got } from '../../registry/fixture.ts'

const KEY = 'deprecated.daemonset.template.generation'
const set = { kind: 'DaemonSet', name: 'd' }
const labels = { app: 'web' }

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

function create(api: Fixture, annotations?: JsonObject): Promise<Got> {
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'a' }] } }
  const metadata = { name: 'd', ...(annotations === undefined ? {} : { annotations }) }
  return api.create({ ...set, body: { metadata, spec: { selector: { matchLabels: labels }, template } } })
}

function generation({ object }: Got): string | undefined {
  return object.metadata.annotations?.[KEY]
}

function image(name: string): JsonObject {
  return { spec: { template: { spec: { containers: [{ name: 'c', image: name }] } } } }
}

void test('a DaemonSet has the template generation 1, and the next one after each change of its template', async (t) => {
  const api = await open(t)
  assert.equal(generation(await create(api)), '1')
  assert.equal(generation(await api.patch({ ...set, body: { spec: { minReadySeconds: 5 } } })), '1')
  assert.equal(generation(await api.patch({ ...set, body: image('b') })), '2')
  assert.equal(generation(await api.patch({ ...set, body: image('c') })), '3')
})

void test('a client can set the template generation of a new DaemonSet, and cannot change it later', async (t) => {
  const api = await open(t)
  assert.equal(generation(await create(api, { [KEY]: '7' })), '7')
  for (const sent of ['9', null]) {
    const body = { metadata: { annotations: { [KEY]: sent } } }
    assert.equal(generation(await api.patch({ ...set, body })), '7')
    assert.equal(generation(await api.patch({ ...set, body, subresource: 'status' })), '7')
  }
  assert.equal(generation(await api.patch({ ...set, body: image('b') })), '8')
  await api.delete(set)
  assert.equal(generation(await create(api, { [KEY]: '-3', other: 'x' })), '1')
})

void test('a template generation that is not a 64-bit integer is refused', async (t) => {
  const api = await open(t)
  const words = 'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing '
  for (const [sent, why] of [
    ['x', 'invalid syntax'],
    ['9223372036854775808', 'value out of range'],
  ] as const) {
    const seen = await refused(create(api, { [KEY]: sent }))
    assert.deepEqual([seen.code, seen.message], [400, `${words}"${sent}": ${why}`])
  }
  await create(api)
  const body = { metadata: { annotations: { [KEY]: 'x' } } }
  assert.equal((await refused(api.patch({ ...set, body }))).code, 400)
})
