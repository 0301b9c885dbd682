/*
 * Goal: ServiceAccount as upstream has it.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fixture, causes, refused } from '../registry/fixture.ts'

const kind = 'ServiceAccount'

void test('references of an account to Secrets keep only the names', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const secrets = [{ name: 'a', namespace: 'other', kind: 'Secret', uid: 'x' }]
  const body = {
    metadata: { name: 'robot' },
    secrets,
    imagePullSecrets: [{ name: 'p' }],
    automountServiceAccountToken: false,
  }
  const made = await api.create({ kind, body })
  assert.deepEqual(made.object['secrets'], [{ name: 'a' }])
  assert.deepEqual(made.object['imagePullSecrets'], [{ name: 'p' }])
  assert.equal(made.object['automountServiceAccountToken'], false)
  const more = [...secrets, { name: 'b', fieldPath: 'c' }]
  const patched = await api.patch({ kind, name: 'robot', body: { secrets: more } })
  assert.deepEqual(patched.object['secrets'], [{ name: 'a' }, { name: 'b' }])
  const columns = api.definition(kind).columns ?? []
  assert.deepEqual(
    columns.map(({ name, cell }) => [name, cell(patched.object)]),
    [
      ['Name', 'robot'],
      ['Secrets', 2],
      ['Age', { since: patched.object.metadata.creationTimestamp }],
    ],
  )
})

void test('the name of an account is a DNS subdomain, and deleting the account returns it', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.create({ kind, body: { metadata: { name: 'Robot' } } }))
  assert.deepEqual([seen.code, ...causes(seen)], [422, 'FieldValueInvalid metadata.name'])
  await api.create({ kind, body: { metadata: { name: 'robot' } } })
  const gone = await api.delete({ kind, name: 'robot' })
  assert.deepEqual([gone.code, gone.object.kind, gone.object.metadata.name], [200, kind, 'robot'])
})
