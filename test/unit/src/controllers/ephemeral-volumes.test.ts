/*
 * Goal: an ephemeral volume has a claim of its own as long as its Pod lives. Method: the shipped
 * controllers and verbs of one member that leads.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectsMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { lead, rest } from '../app/leading-member.ts'
import type { Fixture, Obj } from '../registry/fixture.ts'
import { claimBody } from './volume-bodies.ts'

const CLAIM = 'PersistentVolumeClaim'

function open(t: TestContext): Promise<Fixture> {
  return lead(t, { domain: 'k8s.io', enabled: ['ephemeral-volume', 'garbagecollector'] })
}

async function pod(api: Fixture, name: string, metadata: JsonObject = {}): Promise<Obj> {
  const volumeClaimTemplate = { metadata, spec: claimBody('x')['spec'] ?? null }
  const spec: JsonObject = {
    containers: [{ name: 'c', image: 'i' }],
    volumes: [
      { name: 'data', ephemeral: { volumeClaimTemplate } },
      { name: 'other', emptyDir: {} },
    ],
  }
  return (await api.create({ kind: 'Pod', body: { metadata: { name }, spec } })).object
}

async function claims(api: Fixture): Promise<readonly Obj[]> {
  return (await api.list({ kind: CLAIM })).items
}

async function failures(api: Fixture): Promise<readonly Obj[]> {
  return (await api.list({ kind: 'Event' })).items.filter((event) => event['reason'] === 'FailedBinding')
}

void test('spec 2.5: an ephemeral volume gets a claim that its Pod controls, from the template', async (t) => {
  const api = await open(t)
  const { metadata } = await pod(api, 'one', { labels: { a: 'b' }, annotations: { c: 'd' } })
  await rest(api)
  const [claim, ...others] = await claims(api)
  assert.ok(claim !== undefined && others.length === 0)
  assert.equal(claim.metadata.name, 'one-data')
  assert.deepEqual(claim.metadata.labels, { a: 'b' })
  assert.deepEqual(claim.metadata.annotations, { c: 'd' })
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'one', uid: metadata.uid }
  assert.deepEqual(objectsMember(claim.metadata, 'ownerReferences'), [
    { ...owner, controller: true, blockOwnerDeletion: true },
  ])
  assert.deepEqual(await failures(api), [])
})

void test('a claim that is deleted while its Pod lives is created again, and goes with the Pod', async (t) => {
  const api = await open(t)
  await pod(api, 'one')
  await rest(api)
  const [before] = await claims(api)
  await api.delete({ kind: CLAIM, name: 'one-data' })
  await rest(api)
  const [after] = await claims(api)
  assert.ok(after !== undefined && after.metadata.uid !== before?.metadata.uid)
  await api.delete({ kind: 'Pod', name: 'one', query: { gracePeriodSeconds: '0' } })
  await rest(api)
  assert.deepEqual(await claims(api), [])
})

void test('no claim is created for a Pod that is deleted while the controller looks for its claim', async (t) => {
  let looked = 0
  const api = await lead(t, {
    ...{ domain: 'k8s.io', enabled: ['ephemeral-volume'] },
    calls: (fixture) => ({
      ...fixture.registry,
      get: async (request) => {
        const isFirst = request.definition.kind === CLAIM && looked++ === 0
        const query = { gracePeriodSeconds: '0' }
        if (isFirst) await fixture.delete({ kind: 'Pod', name: 'one', query })
        return fixture.registry.get(request)
      },
    }),
  })
  await pod(api, 'one')
  await rest(api)
  assert.equal(looked, 1)
  assert.deepEqual(await claims(api), [])
  assert.deepEqual(await failures(api), [])
})

void test('a claim of that name that is not for the Pod is left alone, and one Event counts the attempts', async (t) => {
  const api = await open(t)
  await api.create({ kind: CLAIM, body: claimBody('one-data') })
  const { metadata } = await pod(api, 'one')
  await rest(api)
  const [claim] = await claims(api)
  assert.deepEqual(objectsMember(claim?.metadata ?? {}, 'ownerReferences'), [])
  const [event, ...others] = await failures(api)
  assert.ok(event !== undefined && others.length === 0)
  assert.ok(Number(event['count']) > 1)
  assert.equal(event['type'], 'Warning')
  assert.equal(
    event['message'],
    'ephemeral volume data: PVC default/one-data was not created for pod default/one (pod is not owner)',
  )
  const { uid } = metadata
  assert.deepEqual(event['involvedObject'], {
    ...{ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'one', uid },
  })
  assert.deepEqual(event['source'], { component: 'ephemeral-volume-controller' })
})
