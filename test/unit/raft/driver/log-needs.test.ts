/* Goal: a leader keeps the log that its followers go on from, of those that are in touch. */
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
/** To the third: 500 bytes at 70, when 80 was committed. */
const sent = (id: NodeId): SentState | null =>
  id === 3 ? { index: logIndex(70), bytes: 500, commit: logIndex(80) } : null

for (const [title, followers, sentTo, needed] of [
  ['nobody follows', [], nothing, []],
  ['whoever is in touch counts', [follower(2, 90), follower(3, 40)], nothing, ['90', '40']],
  [
    'one that is away does not',
    [follower(2, 90), follower(3, 40, { recentlyActive: false })],
    nothing,
    ['90'],
  ],
  ['one that waits for a state does not', [follower(3, 4, { state: 'snapshot' })], nothing, []],
  ['one that has got it does', [follower(3, 4, { state: 'snapshot' })], sent, ['70 or 500 bytes']],
  ['also when it is asked how far it is', [follower(3, 4, { state: 'probe' })], sent, ['70 or 500 bytes']],
  ['and once it goes on, by where it is', [follower(3, 75)], sent, ['75 or 500 bytes']],
  ['until it is as far as it would have been without', [follower(3, 80)], sent, ['80']],
  ['one that waits for another state does not', [follower(3, 80, { state: 'snapshot' })], sent, []],
] as const) {
  void test(`what is needed of the log: ${title}`, () => {
    const needs = neededByFollowers(followers, sentTo)
    const summary = needs.map(({ from, stateBytes }) =>
      stateBytes === 0 ? `${from}` : `${from} or ${stateBytes} bytes`,
    )
    assert.deepEqual(summary, needed)
  })
}
