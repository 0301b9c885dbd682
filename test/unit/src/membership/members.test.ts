/*
 * Goal: leadership is transferred to a voter that can take it, and the error names a member that
 * cannot.
 * Method: a leader of three that is in contact with its followers, or is not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId } from '../../../../raft/index.ts'
import { Members, MembersError } from '../../../../src/membership/members.ts'
import { FakeConsensus } from '../../../../fixtures/fake-consensus.ts'
import { systemClock } from '../../../../fixtures/system.ts'

/** @param active whether n2, and n3, were in contact recently; n3 has the longer log */
function cluster(active: readonly [n2: boolean, n3: boolean]): {
  readonly consensus: FakeConsensus
  readonly members: Members
} {
  const consensus = new FakeConsensus(systemClock)
  consensus.change({
    followers: active.map((recentlyActive, at) => ({
      id: nodeId(at + 2),
      state: 'replicate' as const,
      match: logIndex(7 + at),
      next: logIndex(11),
      recentlyActive,
    })),
  })
  const members = new Members({
    consensus,
    health: { livez: [], readyz: [], shutDown: () => undefined, close: () => undefined },
    state: () => ({ index: 0, digest: null, featureLevel: 1, quarantine: null }),
  })
  return { consensus, members }
}

async function transferTarget(
  received: readonly [boolean, boolean],
  to: string | null,
): Promise<number | undefined> {
  const { consensus, members } = cluster(received)
  await members.transferLeadership(to, systemClock.monotonicMs() + 1000)
  return consensus.transfers[0]
}

function refuses(words: RegExp): (cause: unknown) => boolean {
  return (cause) => cause instanceof MembersError && cause.code === 'silent' && words.test(cause.message)
}

void test('of the members in touch the one with the longest log leads next', async () => {
  assert.equal(await transferTarget([true, true], null), 3)
  assert.equal(await transferTarget([true, false], null), 2)
  assert.equal(await transferTarget([true, false], 'n2'), 2)
})

void test('a target that has not responded lately is rejected at once', async () => {
  await assert.rejects(
    transferTarget([true, false], 'n3'),
    refuses(/^n3 has not responded lately: .* restart it/),
  )
  await assert.rejects(transferTarget([false, false], null), refuses(/^no other voter has responded lately/))
})

void test('a repeated transfer from the same leader does not move leadership a second time', async () => {
  const { consensus, members } = cluster([true, true])
  const deadlineMs = systemClock.monotonicMs() + 1000
  await members.transferLeadership(null, deadlineMs, 'n1')
  assert.deepEqual(consensus.transfers, [3])
  await members.transferLeadership(null, deadlineMs, 'n1')
  assert.deepEqual(consensus.transfers, [3])
  await members.transferLeadership('n2', deadlineMs, 'n1')
  assert.deepEqual(
    consensus.transfers,
    [3, 2],
    'the named member becomes the leader, whichever member leads now',
  )
})

void test('a follower does not know which members have responded, and forwards the transfer', async () => {
  const { consensus, members } = cluster([false, false])
  consensus.change({ role: 'follower', leader: nodeId(2), followers: [] })
  await members.transferLeadership('n3', systemClock.monotonicMs() + 1000)
  assert.deepEqual(consensus.transfers, [3])
})
