/*
 * Goal: a lease read sees every write that any member acknowledged before it, also if the leader
 * that answers it was paused until its lease expired and another member led; the response names its
 * mode.
 * Method: write through one member, read from the leader at once; then pause the leader, have the
 * next one acknowledge a write, and let the old one wake up with reads already waiting in its
 * socket.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import {
  newRegister,
  readRegister,
  registerMaps,
  registerPath,
  writeRegister,
} from '../support/runs/register.ts'
import { patienceMs, until } from '../support/tools/until.ts'

const lease = 'lease'

void describe('lease reads', () => {
  let cluster: ProcessCluster
  let value = 0

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3 })
  })
  after(() => cluster.remove())

  async function leader(except?: MemberProcess): Promise<MemberProcess> {
    return cluster.leader(except)
  }

  void test('lease reads are off by default and, once enabled, never miss a write of any member', async () => {
    const { client } = await leader()
    assert.equal((await client.post(registerMaps, newRegister)).status, 201)
    const off = await client.get(registerPath, { headers: { 'orch-consistency': lease } })
    assert.equal(off.status, 400)
    assert.equal((await client.post('/cluster/v1/settings', { leaseReads: 1 })).status, 200)
    const counts = { lease: 0, other: 0, unanswered: 0 }
    // On a busy machine a lease may expire before it is used, so there are further rounds until one
    // was used.
    const endMs = performance.now() + patienceMs
    let round = 0
    for (; round < 60 || (counts.lease === 0 && performance.now() < endMs); round++) {
      const writer = cluster.members[round % 3] ?? assert.fail('three members')
      await writeRegister(writer.client, ++value)
      const seen = await readRegister((await leader()).client, lease)
      if (seen === null) {
        counts.unanswered++
        continue
      }
      assert.ok(seen.value >= value, `${seen.value} was read of ${value}`)
      counts[seen.mode === 'lease' ? 'lease' : 'other']++
    }
    console.log(
      `# answered by a lease: ${counts.lease} of ${round}, without: ${counts.other}, not: ${counts.unanswered}`,
    )
    assert.ok(counts.lease > 0, 'a leader that is in touch has a lease')
    let mode: string | undefined
    await until('there is a leader while a follower serves', async () => {
      const leads = await leader()
      const { term } = await leads.status()
      const follower = cluster.members.find((member) => member !== leads) ?? assert.fail('three members')
      mode = (await readRegister(follower.client, lease))?.mode
      return mode !== undefined && (await leads.status()).term === term
    })
    assert.notEqual(mode, 'lease', 'a follower asks the leader')
  })

  void test('lease reads of a leader that was paused beyond its lease are not stale', async () => {
    let late = 0
    let answered = 0
    for (let round = 0; round < 4; round++) {
      const old = await leader()
      await readRegister(old.client, lease)
      old.signal('SIGSTOP')
      try {
        const next = await leader(old)
        await writeRegister(next.client, ++value)
        const reads = Array.from({ length: 4 }, () => readRegister(old.client, lease))
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
