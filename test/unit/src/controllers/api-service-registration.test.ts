/*
 * Goal: the groups and versions of custom kinds have APIServices as long as they are served, and
 * those of administrators are left alone.
 * Method: the shipped controllers and verbs on one store in memory, with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memberOf, objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { customVersion } from '../../../support/fixtures/custom-definition.ts'
import { cells } from '../resources/common/broken-rules.ts'
import { defined, kind as definitionKind, name as definitionName } from './definition-member.ts'
import type { Member } from './definition-member.ts'

const kind = 'APIService'
const name = 'v1.example.com'
const label = 'kube-aggregator.orch.io/automanaged'

async function namesOf({ api }: Member): Promise<readonly string[]> {
  return (await api.list({ kind })).items.map(({ metadata }) => metadata.name ?? '')
}

async function until(member: Member, holds: () => Promise<boolean>): Promise<void> {
  for (let turns = 0; turns < 500 && !(await holds()); turns++) await member.next()
  assert.ok(await holds(), `${(await namesOf(member)).join()}\n${member.errors.join('\n')}`)
}

function untilNames(member: Member, wanted: readonly string[]): Promise<void> {
  return until(member, async () => (await namesOf(member)).join() === wanted.join())
}

/** Waits for what must not happen: 2.5 s of the manual clock are many retries. */
async function later(member: Member): Promise<void> {
  for (let turns = 0; turns < 50; turns++) await member.next()
}

async function patch({ api }: Member, body: JsonObject): Promise<void> {
  await api.patch({ kind, name, body })
}

void test('a group and version has an APIService from its first definition to its last one', async (t) => {
  const member = await defined({
    versions: [customVersion('v1'), customVersion('v1beta1', { version: { storage: false } })],
  })
  t.after(() => member.close())
  await untilNames(member, [name, 'v1beta1.example.com'])
  const { object } = await member.api.get({ kind, name })
  assert.deepEqual(object.metadata.labels, { [label]: 'true' })
  assert.deepEqual(objectMember(object, 'spec'), {
    ...{ group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
  })
  assert.deepEqual(cells(member.api, kind, object), { Name: name, Service: 'Local', Available: 'True' })
  await member.define({ kind: 'Gadget' })
  await member.until('Established', 'True InitialNamesAccepted', 'gadgets.example.com')
  await member.api.delete({ kind: definitionKind, name: definitionName })
  await untilNames(member, [name])
  await member.api.delete({ kind: definitionKind, name: 'gadgets.example.com' })
  await untilNames(member, [])
  assert.deepEqual(member.errors, [])
})

void test('a managed APIService that is changed or deleted is restored', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  await untilNames(member, [name])
  await patch(member, { spec: { groupPriorityMinimum: 5 } })
  const priority = async (): Promise<unknown> => {
    const { object } = await member.api.get({ kind, name })
    return memberOf(objectMember(object, 'spec'), 'groupPriorityMinimum')
  }
  await until(member, async () => (await priority()) === 1000)
  await member.api.delete({ kind, name })
  await untilNames(member, [name])
  assert.deepEqual(member.errors, [])
})

void test("an APIService without the label is the administrator's", async (t) => {
  const member = await defined()
  t.after(() => member.close())
  await untilNames(member, [name])
  await patch(member, { metadata: { labels: null }, spec: { groupPriorityMinimum: 5 } })
  await later(member)
  const { object } = await member.api.get({ kind, name })
  assert.equal(memberOf(objectMember(object, 'spec'), 'groupPriorityMinimum'), 5)
  await member.api.delete({ kind: definitionKind, name: definitionName })
  await member.untilGone()
  await later(member)
  assert.deepEqual(await namesOf(member), [name])
})

void test('a new leader deletes the APIService of a definition that was deleted before', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  await untilNames(member, [name])
  const { object } = await member.api.get({ kind, name })
  member.follow()
  const stale = 'v1.stale.example.com'
  const spec = { ...objectMember(object, 'spec'), group: 'stale.example.com' }
  await member.api.create({ kind, body: { metadata: { name: stale, labels: { [label]: 'true' } }, spec } })
  await later(member)
  assert.deepEqual(await namesOf(member), [name, stale])
  member.lead()
  await untilNames(member, [name])
})
