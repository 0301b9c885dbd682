/*
 * Goal: all members are restarted one after another under load, and clients hardly notice: no
 * acknowledged write is lost, whatever fails succeeds at once on another member, and no watch
 * misses an event.
 * Method: three real processes, stopped and started in turns; clients that repeat on the next
 * member what failed; watchers that resume on the next one; then the record is judged.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { GapMeter, Watcher, Writer } from '../support/runs/cluster-traffic.ts'
import { endsWith } from '../support/tools/stop-after-test.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { RetryingClient } from '../support/drivers/retrying-client.ts'
import {
  assertWatchComplete,
  assertWatchersAgree,
  assertWritesKept,
  contentsOf,
} from '../support/runs/traffic-checks.ts'
import { until } from '../support/tools/until.ts'

const rounds = Number(process.env['RESTART_ROUNDS'] ?? 1)
const namespace = 'traffic'

void test('a rolling restart loses no write, no event, and no request that is retried on another member', async (t) => {
  // Without this controller the namespace has no ConfigMaps except those of this test.
  const config = { controllers: '*,-root-ca-cert-publisher' }
  const cluster = await ProcessCluster.start({ members: 3, config })
  t.after(() => cluster.remove())
  const clients = cluster.members.map(({ client }) => client)
  const [first] = clients
  assert.ok(first)
  const object = { apiVersion: 'v1', kind: 'Namespace' }
  for (const name of [namespace, 'repeated'])
    assert.equal((await first.post('/api/v1/namespaces', { ...object, metadata: { name } })).status, 201)
  const [base] = await contentsOf(first, namespace, '')
  assert.equal(base, undefined, 'it begins empty')
  const list = await first.get(`/api/v1/namespaces/${namespace}/configmaps`)
  const since = (JSON.parse(list.text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion
  const gap = new GapMeter()
  const watchers = clients.map((_, at) => new Watcher({ clients, namespace, first: at, revision: since }))
  const writers = clients.map((_, at) => new Writer({ id: `w${at}`, clients, namespace, first: at, gap }))
  const retrying = clients.map((_, at) => new RetryingClient(`r${at}`, clients, 'repeated', at))
  endsWith(t, ...watchers, ...writers, ...retrying)
  await sleep(500)
  gap.take()
  for (let round = 0; round < rounds; round++) {
    for (const member of cluster.members) {
      assert.equal(await member.stop('SIGTERM'), 0)
      member.start()
      await member.waitReady()
    }
  }
  const longestMs = gap.take()
  await Promise.all([...writers, ...retrying].map((one) => one.stop()))

  const items = await contentsOf(first, namespace, '')
  assertWritesKept(items, writers)
  for (const client of clients) assert.deepEqual(await contentsOf(client, namespace, ''), items)
  const last = Math.max(...items.map(({ metadata }) => Number(metadata.resourceVersion)))
  await until(
    `each watch is at ${last}`,
    () => watchers.every(({ revision }) => revision >= last),
    () => `they are at ${watchers.map(({ revision }) => revision).join(', ')}`,
  )
  await Promise.all(watchers.map((watcher) => watcher.stop()))
  assertWatchersAgree(watchers)
  assertWatchComplete(items, watchers[0] ?? assert.fail('three watchers'), Number(since))

  const kept = new Set((await contentsOf(first, 'repeated', '')).map(({ metadata }) => metadata.name))
  for (const name of retrying.flatMap(({ created }) => created)) assert.ok(kept.has(name), `${name} is lost`)
  const repetitions = retrying.flatMap((one) => one.repetitions)
  const slowest = Math.max(0, ...repetitions.map(({ ms }) => ms))
  const calls = retrying.reduce((sum, one) => sum + one.calls, 0)
  console.log(
    `# ${rounds * 3} restarts: ${calls} calls, ${repetitions.length} of them failed and succeeded at once elsewhere, the slowest ` +
      `in ${slowest.toFixed(0)} ms; longest gap between writes ${longestMs.toFixed(0)} ms; ` +
      `${watchers[0]?.events.length ?? 0} events in each of 3 watches`,
  )
  assert.deepEqual(
    retrying.flatMap(({ lost }) => lost),
    [],
  )
  assert.ok(repetitions.length > 0, 'some requests failed during the restarts')
})
