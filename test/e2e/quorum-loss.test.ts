/*
 * Goal: a member that has lost the quorum says so, promises nothing, and is whole again when the others are back.
 * Method: two of three real members are killed; the third is asked for everything.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProcessCluster } from '../support/process-cluster.ts'

const path = '/api/v1/namespaces/default/configmaps'

void test('without a quorum: not ready, local reads only, typed refusals, no watch that looks alive', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, config: { 'request-timeout': '3s' } })
  t.after(() => cluster.remove())
  const [left, ...others] = cluster.members
  if (left === undefined) return assert.fail('three members')
  const made = await left.client.post(path, { metadata: { name: 'before' } })
  assert.equal(made.status, 201, made.text)
  const watch = left.client.watch(`${path}?watch=1&resourceVersion=0`, () => undefined)
  await sleep(200)
  await Promise.all(others.map((member) => member.stop('SIGKILL')))

  const lostMs = performance.now()
  const written = await left.client.post(path, { metadata: { name: 'during' } }, { timeoutMs: 10_000 })
  assert.ok([503, 504].includes(written.status), written.text)
  assert.equal((JSON.parse(written.text) as { kind: string }).kind, 'Status')
  const recent = await left.client.get(`${path}/before`, { timeoutMs: 10_000 })
  assert.ok([503, 504].includes(recent.status), recent.text)
  assert.equal((await left.client.get(`${path}/before?resourceVersion=0`)).status, 200, 'any version will do')
  for (let wait = 0; wait < 200 && (await left.isReady()); wait++) await sleep(50)
  assert.equal(await left.isReady(), false)
  assert.equal((await left.client.get('/livez')).status, 200, 'a restart would not help')
  await watch.ended
  console.log(
    `# the watch ended ${((performance.now() - lostMs) / 1000).toFixed(1)} s after the quorum was lost`,
  )

  for (const member of others) member.start()
  await cluster.waitReady()
  const after = await left.client.post(path, { metadata: { name: 'after' } })
  assert.equal(after.status, 201, after.text)
  const during = await left.client.get(`${path}/during`)
  assert.ok([200, 404].includes(during.status), 'it was said to be unknown, or not done')
  if (written.status === 503) assert.equal(during.status, 404)
})
