/* Goal: a leader keeps the log that its followers go on from, of those that are in touch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FollowerStatus } from '../../../../raft/core/ready.ts'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { LogIndex, NodeId } from '../../../../raft/core/types.ts'
import { neededByFollowers } from '../../../../raft/node/log-needs.ts'

function follower(id: number, match: number, more: Partial<FollowerStatus> = {}): FollowerStatus {
  return {
    ...{ id: nodeId(id), state: 'replicate', match: logIndex(match), next: logIndex(match + 1) },
    ...{ recentlyActive: true, ...more },
  }
}

const nothing = (): null => null
const delivered =
  (index: number) =>
  (id: NodeId): LogIndex | null =>
    id === 3 ? logIndex(index) : null

for (const [title, followers, deliveredTo, needed] of [
  ['nobody follows', [], nothing, null],
  ['the slowest in touch counts', [follower(2, 90), follower(3, 40)], nothing, 40],
  ['one that is away does not', [follower(2, 90), follower(3, 40, { recentlyActive: false })], nothing, 90],
  [
    'one that waits for a state does not',
    [follower(2, 90), follower(3, 4, { state: 'snapshot' })],
    nothing,
    90,
  ],
  ['one that has got it does', [follower(2, 90), follower(3, 4, { state: 'snapshot' })], delivered(70), 70],
  ['and once it goes on, by where it is', [follower(2, 90), follower(3, 75)], delivered(70), 75],
] as const) {
  void test(`what is needed of the log: ${title}`, () => {
    assert.equal(neededByFollowers(followers, deliveredTo), needed)
  })
}
