/*
 * Goal: a member believes that it was removed when its own log or somebody who knows more says so, never because of
 * one who knows less; until then it keeps its peers.
 * Method: configurations set by hand, and what the transport is told.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { Configuration } from '../../../../raft/core/types.ts'
import { Belonging } from '../../../../raft/node/belonging.ts'
import type { Joining } from '../../../../raft/node/options.ts'
import { cluster } from '../../../scenario/people.ts'

function bench(self: number, configuration: Configuration, index: number, joining?: Joining) {
  const core = { configuration, decided: { index: logIndex(index), configuration } }
  const told: [string, number][] = []
  const removed: [string, number][] = []
  const belonging = new Belonging({
    ...{ self: nodeId(self), joining, core },
    transport: {
      setPeers: (peers, decided) => void told.push([peers.map(({ id }) => id).join(), decided ?? -1]),
    },
    removed: (cause, at) => void removed.push([cause, at]),
  })
  belonging.refresh()
  return { core, told, removed, belonging }
}

void test('peers are told once for each configuration, and once more when it is decided', () => {
  const { core, told, belonging, removed } = bench(1, cluster([1, 2, 3]), 5)
  belonging.refresh()
  core.configuration = cluster([1, 2, 3, 4])
  belonging.refresh()
  core.decided = { index: logIndex(9), configuration: core.configuration }
  belonging.refresh()
  belonging.refresh()
  assert.deepEqual(told, [
    ['1,2,3', 5],
    ['1,2,3,4', 5],
    ['1,2,3,4', 9],
  ])
  assert.equal(removed.length, 0)
})

void test('who is to be removed is let in until that is decided', () => {
  const { core, told, belonging } = bench(1, cluster([1, 2, 3]), 5)
  core.configuration = cluster([1, 2])
  belonging.refresh()
  assert.deepEqual(told.at(-1), ['1,2,3', 5])
  core.decided = { index: logIndex(9), configuration: core.configuration }
  belonging.refresh()
  assert.deepEqual(told.at(-1), ['1,2', 9])
})

void test('its own log tells a member that it was removed, once it is decided', () => {
  const { core, removed, belonging } = bench(3, cluster([1, 2, 3]), 5)
  core.configuration = cluster([1, 2])
  belonging.refresh()
  assert.equal(removed.length, 0)
  core.decided = { index: logIndex(9), configuration: core.configuration }
  belonging.refresh()
  core.decided = { index: logIndex(12), configuration: cluster([1]) }
  belonging.refresh()
  assert.equal(removed.length, 1)
  assert.match(
    removed[0]?.[0] ?? '',
    /^this member was removed from its cluster, by entry 9 or before: empty /,
  )
})

void test('a peer is believed only when it knows of a later decision', () => {
  const { removed, belonging } = bench(3, cluster([1, 2, 3]), 5)
  for (const index of [0, 4, 5]) belonging.disowned(logIndex(index))
  assert.equal(removed.length, 0)
  belonging.disowned(logIndex(6))
  belonging.disowned(logIndex(7))
  assert.deepEqual(
    removed.map(([, at]) => at),
    [6],
  )
})

void test('a member that joins hears those it was told of, until its log says who is who', () => {
  const joining = { members: cluster([1, 2], [4]).members, configurationIndex: logIndex(20) }
  const { core, told, removed, belonging } = bench(4, emptyConfiguration, 0, joining)
  assert.deepEqual(told, [['1,2,4', 0]])
  // The log begins long before it was added.
  core.decided = { index: logIndex(7), configuration: cluster([1, 2, 3]) }
  core.configuration = core.decided.configuration
  belonging.refresh()
  // Who lags has not heard of it yet.
  for (const index of [3, 19, 20]) belonging.disowned(logIndex(index))
  assert.equal(removed.length, 0)
  core.decided = { index: logIndex(20), configuration: cluster([1, 2], [4]) }
  core.configuration = core.decided.configuration
  belonging.refresh()
  assert.equal(removed.length, 0)
  belonging.disowned(logIndex(21))
  assert.equal(removed.length, 1)
})

void test('who knows of no configuration keeps the peers it had', () => {
  const { core, told, removed, belonging } = bench(1, cluster([1, 2, 3]), 5)
  core.configuration = emptyConfiguration
  core.decided = { index: logIndex(9), configuration: emptyConfiguration }
  belonging.refresh()
  assert.deepEqual(told, [['1,2,3', 5]])
  assert.equal(removed.length, 0)
})
