/* Goal: a leader keeps the log that its followers in contact continue from. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FollowerStatus } from '../../../../raft/core/ready.ts'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import { neededByFollowers } from '../../../../raft/driver/log-needs.ts'
import type { SentState } from '../../../../raft/driver/log-needs.ts'

function follower(id: number, match: number, more: Partial<FollowerStatus> = {}): FollowerStatus {
  return {
    ...{ id: nodeId(id), state: 'replicate', match: logIndex(match), next: logIndex(match + 1) },
    ...{ recentlyActive: true, ...more },
  }
}

const nothing = (): null => null
/** Member 3 received a snapshot of 500 bytes at index 70; 80 was committed when it arrived. */
const sent = (id: NodeId): SentState | null =>
  id === 3 ? { index: logIndex(70), bytes: 500, commit: logIndex(80) } : null

for (const [title, followers, sentTo, needed] of [
  ['no followers', [], nothing, []],
  ['followers in contact count', [follower(2, 90), follower(3, 40)], nothing, ['90', '40']],
  [
    'a follower without contact does not count',
    [follower(2, 90), follower(3, 40, { recentlyActive: false })],
    nothing,
    ['90'],
  ],
  [
    'a follower that waits for a snapshot does not count',
    [follower(3, 4, { state: 'snapshot' })],
    nothing,
    [],
  ],
  [
    'a follower that received a snapshot counts',
    [follower(3, 4, { state: 'snapshot' })],
    sent,
    ['70 or 500 bytes'],
  ],
  [
    'a follower that received a snapshot counts while it is probed',
    [follower(3, 4, { state: 'probe' })],
    sent,
    ['70 or 500 bytes'],
  ],
  [
    'a follower that continues from a snapshot counts by its match index',
    [follower(3, 75)],
    sent,
    ['75 or 500 bytes'],
  ],
  [
    'a snapshot no longer counts once the follower has what was committed during its transfer',
    [follower(3, 80)],
    sent,
    ['80'],
  ],
  [
    'a follower that waits for another snapshot does not count',
    [follower(3, 80, { state: 'snapshot' })],
    sent,
    [],
  ],
] as const) {
  void test(`log needs of followers: ${title}`, () => {
    const needs = neededByFollowers(followers, sentTo)
    const summary = needs.map(({ from, stateBytes }) =>
      stateBytes === 0 ? `${from}` : `${from} or ${stateBytes} bytes`,
    )
    assert.deepEqual(summary, needed)
  })
}
