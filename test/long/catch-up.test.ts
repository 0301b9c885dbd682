/*
 * Goal: a member that was away comes back by itself: from the log when the others still have what
 * it missed, else from a snapshot of their state; and is ready only then.
 * Method: one follower is stopped during many writes with the shipped retention, and with a
 * small one; afterwards its own answers are compared with the leader's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { contentsOf } from '../support/runs/traffic-checks.ts'

async function writeMany(member: MemberProcess, count: number): Promise<void> {
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) {
      const name = `away-${next++}`
      const reply = await member.client.post('/api/v1/namespaces/default/configmaps', {
        metadata: { name },
        data: { x: 'y'.repeat(200) },
      })
      if (reply.status !== 201) throw new Error(`${name}: ${reply.text}`)
    }
  }
  await Promise.all(Array.from({ length: 64 }, one))
}

async function comesBack(
  cluster: ProcessCluster,
  writes: number,
): Promise<{ readonly readyMs: number; readonly log: string }> {
  const leader = await cluster.leader()
  const away = cluster.members.find((member) => member !== leader) ?? assert.fail('a follower')
  assert.equal(await away.stop('SIGTERM'), 0)
  await writeMany(leader, writes)
  await leader.onDisk()
  const startedMs = performance.now()
  away.start()
  await away.waitReady()
  const readyMs = performance.now() - startedMs
  const mine = await contentsOf(away.client, 'default', 'resourceVersion=0')
  const theirs = await contentsOf(leader.client, 'default', '')
  assert.ok(theirs.length >= writes)
  assert.deepEqual(mine, theirs, 'ready means: it has everything')
  return { readyMs, log: away.currentLog() }
}

/** As many as a member may miss in practice. */
const [writes, writesBeyondRetention] = [10_000, 3000]

void test(`a member away during ${writes} writes catches up from the log`, async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const { readyMs, log } = await comesBack(cluster, writes)
  assert.doesNotMatch(log, /snapshot installed/, 'the log sufficed')
  console.log(`# ready ${readyMs.toFixed(0)} ms after its start, by the log`)
})

void test('a member away longer than a small retention catches up by snapshot', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, config: { 'log-retention-entries': 500 } })
  t.after(() => cluster.remove())
  const { readyMs, log } = await comesBack(cluster, writesBeyondRetention)
  assert.match(log, /snapshot installed/, 'a snapshot was needed')
  console.log(`# ready ${readyMs.toFixed(0)} ms after its start, by snapshot`)
})
