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
/** The third received 500 bytes at 70, when 80 was committed. */
const sent = (id: NodeId): SentState | null =>
  id === 3 ? { index: logIndex(70), bytes: 500, commit: logIndex(80) } : null

for (const [title, followers, sentTo, needed] of [
  ['no followers', [], nothing, []],
  ['followers in contact count', [follower(2, 90), follower(3, 40)], nothing, ['90', '40']],
  [
    'one without contact does not',
    [follower(2, 90), follower(3, 40, { recentlyActive: false })],
    nothing,
    ['90'],
  ],
  ['one that waits for a snapshot does not', [follower(3, 4, { state: 'snapshot' })], nothing, []],
  ['one that received it does', [follower(3, 4, { state: 'snapshot' })], sent, ['70 or 500 bytes']],
  ['also when it is probed', [follower(3, 4, { state: 'probe' })], sent, ['70 or 500 bytes']],
  ['and once it continues, by its match index', [follower(3, 75)], sent, ['75 or 500 bytes']],
  ['until it reaches the commit index at the end of the transfer', [follower(3, 80)], sent, ['80']],
  ['one that waits for another snapshot does not', [follower(3, 80, { state: 'snapshot' })], sent, []],
] as const) {
  void test(`log needs of followers: ${title}`, () => {
    const needs = neededByFollowers(followers, sentTo)
    const summary = needs.map(({ from, stateBytes }) =>
      stateBytes === 0 ? `${from}` : `${from} or ${stateBytes} bytes`,
    )
    assert.deepEqual(summary, needed)
  })
}
