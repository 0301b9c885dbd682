/*
 * Goal: a read by a lease sees every write that any member acknowledged before it, also on a leader that stood still
 * until its lease was over and another led; it says by what it was answered.
 * Method: write through one member, read from the leader at once; then pause the leader, have the next one acknowledge a
 * write, and let the old one wake up with reads already waiting in its socket.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { NoReply } from '../support/api-client.ts'
import type { ApiClient } from '../support/api-client.ts'
import { ProcessCluster } from '../support/process-cluster.ts'
import type { MemberProcess } from '../support/process-cluster.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const path = `${maps}/register`

type Seen = { readonly value: number; readonly mode: string }

async function write(client: ApiClient, value: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      const reply = await client.patch(path, { data: { value: String(value) } })
      if (reply.status === 200) return
    } catch (cause) {
      if (!(cause instanceof NoReply)) throw cause
    }
    await sleep(50)
  }
  throw new Error(`value ${value} was not acknowledged`)
}

/** @returns null: no answer, or none that shows it */
async function read(client: ApiClient): Promise<Seen | null> {
  try {
    const reply = await client.get(path, { timeoutMs: 10_000, headers: { 'orch-consistency': 'lease' } })
    if (reply.status !== 200) return null
    const { data } = JSON.parse(reply.text) as { data: { value: string } }
    return { value: Number(data.value), mode: String(reply.headers['orch-consistency']).split(';')[0] ?? '' }
  } catch (cause) {
    if (cause instanceof NoReply) return null
    throw cause
  }
}

void describe('reads by a lease', () => {
  let cluster: ProcessCluster
  let value = 0

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3 })
  })
  after(() => cluster.remove())

  async function leader(except?: MemberProcess): Promise<MemberProcess> {
    return cluster.leader(except)
  }

  void test('are off, then switched on, and never miss a write of any member', async () => {
    const { client } = await leader()
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'register' }, data: { value: '0' } }
    assert.equal((await client.post(maps, body)).status, 201)
    assert.equal((await client.get(path, { headers: { 'orch-consistency': 'lease' } })).status, 400)
    assert.equal((await client.post('/cluster/v1/settings', { leaseReads: 1 })).status, 200)
    const counts = { lease: 0, other: 0, unanswered: 0 }
    for (let round = 0; round < 60; round++) {
      const writer = cluster.members[round % 3] ?? assert.fail('three members')
      await write(writer.client, ++value)
      const seen = await read((await leader()).client)
      if (seen === null) {
        counts.unanswered++
        continue
      }
      assert.ok(seen.value >= value, `${seen.value} was read of ${value}`)
      counts[seen.mode === 'lease' ? 'lease' : 'other']++
    }
    console.log(
      `# answered by a lease: ${counts.lease} of 60, without: ${counts.other}, not: ${counts.unanswered}`,
    )
    assert.ok(counts.lease > 0, 'a leader that is in touch has a lease')
    const leads = await leader()
    const follower = cluster.members.find((member) => member !== leads) ?? assert.fail('three members')
    assert.notEqual((await read(follower.client))?.mode, 'lease', 'who does not lead asks the leader')
  })

  void test('of a leader that stood still beyond its lease are not stale', async () => {
    let late = 0
    let answered = 0
    for (let round = 0; round < 4; round++) {
      const old = await leader()
      await read(old.client)
      old.signal('SIGSTOP')
      try {
        const next = await leader(old)
        await write(next.client, ++value)
        const reads = Array.from({ length: 4 }, () => read(old.client))
        await sleep(50)
        old.signal('SIGCONT')
        for (const seen of await Promise.all(reads)) {
          if (seen === null) continue
          answered++
          if (seen.value < value) late++
        }
      } finally {
        old.signal('SIGCONT')
        await old.waitReady()
      }
    }
    console.log(`# stale reads of leaders that had been paused: ${late} of ${answered} answered`)
    assert.equal(late, 0)
    assert.ok(answered > 0, 'a leader that woke up answered')
  })
})
