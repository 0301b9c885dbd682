/*
 * Goal: in an upgrade of the apply rules, the level rises only after the last member is upgraded,
 * members of both versions have equal states until then, no acknowledged write is lost, and an
 * older program is refused afterwards.
 * Method: three real members held back below a level (the newest one; in the long suite each),
 * under traffic restarted one by one with that level as the limit; at the end one is restarted with
 * the old limit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { namesOf } from '../../src/api/metadata/names.ts'
import { featureLevelMax } from '../../src/version.ts'
import type { ApiClient } from '../support/drivers/api-client.ts'
import { customDefinition } from '../support/fixtures/custom-definition.ts'
import { GapMeter, Writer } from '../support/runs/cluster-traffic.ts'
import { everyVariant } from '../support/fixtures/variants.ts'
import { DigestMonitor } from '../support/runs/digest-monitor.ts'
import { endsWith } from '../support/tools/stop-after-test.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { assertNeverBack, assertWritesKept, contentsOf } from '../support/runs/traffic-checks.ts'
import { until } from '../support/tools/until.ts'

const heldBackAt = (level: number): readonly string[] => ['--feature-level-max', String(level)]
const namespace = 'traffic'

for (let to = everyVariant ? 2 : featureLevelMax; to <= featureLevelMax; to++) {
  void test(`a rolling upgrade from feature level ${to - 1} to ${to} works, and an older member is refused afterwards`, (t) =>
    upgrade(t, to))
}

async function upgrade(t: TestContext, to: number): Promise<void> {
  const [heldBack, free] = [heldBackAt(to - 1), heldBackAt(to)]
  const cluster = await ProcessCluster.prepare({ members: 3 })
  t.after(() => cluster.remove())
  for (const member of cluster.members) member.start(heldBack)
  await cluster.waitReady()
  const [first] = cluster.members
  if (first === undefined) return assert.fail('three members')
  const made = await first.client.post('/api/v1/namespaces', { metadata: { name: namespace } })
  assert.equal(made.status, 201, made.text)
  const newRule = rules[to] ?? assert.fail(`level ${to} has something to show`)
  await newRule(first.client, 'before')

  const clients = cluster.members.map(({ client }) => client)
  const gap = new GapMeter()
  const writers = [0, 1, 2].map((at) => new Writer({ id: `w${at}`, clients, namespace, first: at, gap }))
  const digests = new DigestMonitor(cluster.members)
  endsWith(t, digests, ...writers)
  for (const member of cluster.members) {
    // Time in which a premature raise would happen.
    await sleep(1500)
    await until(
      'each level was seen',
      () => digests.levels.every((level) => level > 0),
      () => digests.levels.join(' '),
    )
    assert.deepEqual([...new Set(digests.levels)], [to - 1], `before ${member.name} is upgraded`)
    assert.equal(await member.stop(), 0)
    member.start(free)
    await member.waitReady()
  }
  await until(
    `all are at ${to} after the last one`,
    () => digests.levels.every((level) => level === to),
    () => digests.levels.join(' '),
  )
  const acknowledged = (): number =>
    writers.reduce((sum, { record }) => sum + record.created.size + record.increments, 0)
  const [writtenThen, comparedThen] = [acknowledged(), digests.compared]
  await until(
    'there is something to see, under the new level too',
    () =>
      acknowledged() > Math.max(100, writtenThen + 10) && digests.compared > Math.max(20, comparedThen + 3),
    () => `${acknowledged()} writes, ${digests.compared} digests compared`,
  )
  await Promise.all(writers.map((writer) => writer.stop()))
  await digests.agreed()
  await digests.stop()
  const items = await contentsOf(first.client, namespace, '')
  assertWritesKept(items, writers)
  writers.forEach(({ record }, at) => assertNeverBack(record.revisions, `writer ${at}`))
  console.log(`# ${acknowledged()} acknowledged writes kept, ${digests.compared} digests compared`)
  await newRule(first.client, 'after')

  const words = `the cluster is at feature level ${to}, this member is held back at ${to - 1}`
  const refusal = new RegExp(
    `^orch-apiserver: .*${words}: start it without --feature-level-max$|"level":"fatal".*${words}: start it without --feature-level-max"`,
    'm',
  )
  assert.equal(await first.stop(), 0)
  first.start(heldBack)
  await until(
    'it does not take part',
    () => !first.running,
    () => first.logTail(),
  )
  assert.equal(await first.stop(), 1)
  assert.match(first.currentLog(), refusal)
  first.start(free)
  await first.waitReady()
}

type Rule = (client: ApiClient, when: 'before' | 'after') => Promise<void>

/** Checks that each level enables its features, which are unavailable below it. */
const rules: Readonly<Record<number, Rule>> = {
  2: async (client, when) => {
    const { status, text } = await client.post('/cluster/v1/settings', { storageBytesMax: 2 ** 30 })
    assert.equal(status, when === 'before' ? 400 : 200, text)
    if (when === 'before') assert.match(text, /needs feature level 2, the cluster is at 1/)
  },
  3: async (client, when) => {
    const { status, text } = await client.get('/apis/cluster.k8s.io/v1/members')
    assert.equal(status, 200, text)
    const { items } = JSON.parse(text) as { items: readonly { metadata: { name: string } }[] }
    const names = items.map(({ metadata }) => metadata.name)
    assert.deepEqual(names, when === 'before' ? [] : ['n1', 'n2', 'n3'])
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const made = await client.post(definitions, customDefinition(namesOf('k8s.io')))
    assert.equal(made.status, when === 'before' ? 503 : 201, made.text)
    if (when === 'before') assert.match(made.text, /begin with feature level 3, the cluster is at 2/)
  },
}

void test('a member held back below the feature level of its cluster stops and takes part once it is upgraded', async (t) => {
  const cluster = await ProcessCluster.prepare({ members: 3 })
  t.after(() => cluster.remove())
  const [held, ...others] = cluster.members
  if (held === undefined) return assert.fail('three members')
  // The leader that founds the cluster chooses the newest level that it knows. The member that is
  // held back takes part in the founding, and campaigns too late to be that leader.
  held.start([...heldBackAt(featureLevelMax - 1), '--election-timeout', '20s'])
  for (const member of others) member.start()
  await Promise.all(others.map((member) => member.waitReady()))
  await until(
    'it does not take part',
    () => !held.running,
    () => held.logTail(),
  )
  const words = `the cluster is at feature level ${featureLevelMax}, this member is held back`
  assert.match(held.currentLog(), new RegExp(`(^orch-apiserver: |"level":"fatal").*${words}`, 'm'))
  held.start()
  await held.waitReady()
  const digests = new DigestMonitor(cluster.members)
  endsWith(t, digests)
  await digests.agreed()
  await digests.stop()
})
