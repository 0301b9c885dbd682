/*
 * The tests that every Transport passes. The caller provides a harness; see `transport.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../base/random.ts'
import { logIndex, term } from '../../raft/core/types.ts'
import { plain, sampleKinds, sampleMessage } from '../unit/raft/transport/sample-messages.ts'
import { connect, failsWith, headerOf, pieces, probe, startMember, until } from './transport-members.ts'
import type { Group, Pair, Scenario, TestMember, TransportHarness } from './transport-members.ts'
import { snapshotConformance } from './transport-snapshots.ts'

export function transportConformance(label: string, openHarness: () => TransportHarness): void {
  const scenario = (sentence: string, body: (harness: TransportHarness) => Promise<void>): void => {
    void test(`${label}: ${sentence}`, async () => {
      const harness = openHarness()
      try {
        await body(harness)
      } finally {
        await harness.close()
      }
    })
  }

  /** Members that know each other. */
  const group = async (harness: TransportHarness, ...names: readonly string[]): Promise<TestMember[]> => {
    const members: TestMember[] = []
    for (const [at, name] of names.entries()) members.push(await startMember(harness, { name, id: at + 1 }))
    for (const { transport } of members) transport.setPeers(members.map(({ info }) => info))
    return members
  }
  const pair = async (harness: TransportHarness): Promise<[TestMember, TestMember]> => {
    const [a, b] = await group(harness, 'n1', 'n2')
    assert.ok(a && b)
    return [a, b]
  }

  messagesConformance(scenario, pair, group)
  admissionConformance(scenario, pair)
  snapshotConformance(scenario, pair)
}

function messagesConformance(scenario: Scenario, pair: Pair, group: Group): void {
  scenario('messages arrive in the order they were sent, over many turns', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    for (let round = 1; round <= 1000; round++) {
      a.transport.send(probe(a, b, round))
      if (round % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await until('all have arrived', () => b.receiver.messages.length >= 1000)
    const rounds = b.receiver.messages.map((message) =>
      message.kind === 'read-request' ? message.round : -1,
    )
    assert.deepEqual(
      rounds,
      Array.from({ length: 1000 }, (_, at) => at + 1),
    )
    assert.deepEqual(a.receiver.unreachables, [])
  })

  scenario('every kind of message arrives as it was sent', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    const random = new SeededRandom(11)
    const ends = { from: a.info.id, to: b.info.id }
    const sent = sampleKinds.map((kind) => sampleMessage(kind, random, ends))
    for (const message of sent) a.transport.send(message)
    await until('all have arrived', () => b.receiver.messages.length >= sent.length)
    assert.deepEqual(plain(b.receiver.messages), plain(sent))
  })

  scenario('an entry of three mebibytes arrives whole', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    const data = new SeededRandom(2).bytes(3 * 1024 * 1024)
    a.transport.send({
      kind: 'core',
      message: {
        ...{ kind: 'append-request', from: a.info.id, to: b.info.id, term: term(2), commit: logIndex(0) },
        ...{ previousIndex: logIndex(0), previousTerm: term(0) },
        entries: [{ index: logIndex(1), term: term(2), kind: 'command', data }],
      },
    })
    await until('it has arrived', () => b.receiver.messages.length === 1)
    const [message] = b.receiver.messages
    assert.ok(message?.kind === 'core' && message.message.kind === 'append-request')
    const [entry] = message.message.entries
    assert.ok(entry?.kind === 'command')
    assert.equal(Buffer.compare(entry.data, data), 0)
  })

  scenario(
    'send neither delivers a message nor reports an unreachable peer before it returns',
    async (harness) => {
      const [a, b] = await pair(harness)
      await connect(a, b)
      a.transport.send(probe(a, b, 5))
      assert.equal(b.receiver.messages.length, 0)
      await b.transport.close()
      await until('its absence is reported', () => {
        const before = a.receiver.unreachables.length
        a.transport.send(probe(a, b, 6))
        assert.equal(a.receiver.unreachables.length, before)
        return before > 0
      })
      assert.ok(a.receiver.unreachables.every((peer) => peer === b.info.id))
    },
  )

  scenario(
    'a peer that is down is reported as unreachable and does not delay other peers',
    async (harness) => {
      const [a, b, c] = await group(harness, 'n1', 'n2', 'n3')
      assert.ok(a && b && c)
      await connect(a, b)
      await connect(a, c)
      await c.transport.close()
      await until('its absence is reported', () => {
        a.transport.send(probe(a, c, 7))
        return a.receiver.unreachables.includes(c.info.id)
      })
      for (let round = 1; round <= 200; round++) {
        a.transport.send(probe(a, c, round))
        a.transport.send(probe(a, b, round))
      }
      await until('the other has all', () => b.receiver.messages.length === 200)
      assert.ok(!a.receiver.unreachables.includes(b.info.id))
    },
  )

  scenario(
    'a restarted peer is reconnected in both directions without a call of setPeers',
    async (harness) => {
      const [a, b] = await pair(harness)
      await connect(a, b)
      await connect(b, a)
      await b.transport.close()
      const again = await startMember(harness, { name: 'n2', id: 2, after: b.info })
      again.transport.setPeers([a.info, again.info])
      await connect(a, again)
      await connect(again, a)
    },
  )

  scenario(
    'a peer that closed is reported as ended once, and as connected when it is back',
    async (harness) => {
      const [a, b] = await pair(harness)
      await connect(a, b)
      await connect(b, a)
      assert.deepEqual(a.receiver.endedReports, [])
      await b.transport.close()
      const { id: peer } = b.info
      await until('its end is reported', () => a.receiver.endedReports.length > 0)
      const again = await startMember(harness, { name: 'n2', id: 2, after: b.info })
      again.transport.setPeers([a.info, again.info])
      await connect(again, a)
      await until('it is back', () => a.receiver.endedReports.length > 1)
      assert.deepEqual(a.receiver.endedReports, [
        { peer, hasEnded: true },
        { peer, hasEnded: false },
      ])
    },
  )

  scenario('nothing is received after closing', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    for (let round = 1; round <= 100; round++) a.transport.send(probe(a, b, round))
    await b.transport.close()
    const received = b.receiver.messages.length
    for (let round = 1; round <= 100; round++) a.transport.send(probe(a, b, round))
    await until('the loss is noticed', () => {
      a.transport.send(probe(a, b, 0))
      return a.receiver.unreachables.length > 0
    })
    assert.equal(b.receiver.messages.length, received)
    await b.transport.close()
  })
}

function admissionConformance(scenario: Scenario, pair: Pair): void {
  /** Sends from `a` repeatedly; none of the messages may arrive at `b`. */
  const dropped = async (a: TestMember, b: TestMember): Promise<void> => {
    b.receiver.messages.length = 0
    a.receiver.unreachables.length = 0
    await until('several messages were dropped', () => {
      a.transport.send(probe(a, b, 3))
      return a.receiver.unreachables.length >= 3
    })
    assert.deepEqual(b.receiver.messages, [])
  }

  scenario('messages of a caller that is not a member are dropped', async (harness) => {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const b = await startMember(harness, { name: 'n2', id: 2 })
    a.transport.setPeers([a.info, b.info])
    b.transport.setPeers([b.info])
    await dropped(a, b)
    b.transport.setPeers([a.info, b.info])
    await connect(a, b)
  })

  scenario('messages of a removed member are dropped', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    b.transport.setPeers([b.info])
    await dropped(a, b)
  })

  scenario(
    'a removed member receives the index of the deciding configuration, if there is one',
    async (harness) => {
      const [a, b] = await pair(harness)
      await connect(a, b)
      b.transport.setPeers([b.info])
      await dropped(a, b)
      assert.deepEqual(a.receiver.removedBy, [])
      b.transport.setPeers([b.info], logIndex(2 ** 40))
      await until('the removal is reported', () => {
        a.transport.send(probe(a, b, 3))
        return a.receiver.removedBy.length > 0
      })
      assert.deepEqual(a.receiver.removedBy[0], { peer: b.info.id, configurationIndex: 2 ** 40 })
    },
  )

  scenario('a removed member learns of its removal at once, or when it sends', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    b.transport.setPeers([b.info], logIndex(7))
    await until('the removal is reported', () => {
      a.transport.send(probe(a, b, 3))
      return a.receiver.removedBy.length > 0
    })
  })

  scenario('messages of a member of another cluster are dropped', async (harness) => {
    const a = await startMember(harness, { name: 'n1', id: 1, cluster: 'another' })
    const b = await startMember(harness, { name: 'n2', id: 2 })
    a.transport.setPeers([a.info, b.info])
    b.transport.setPeers([a.info, b.info])
    await dropped(a, b)
    await assert.rejects(
      a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1)),
      failsWith('refused'),
    )
    assert.deepEqual(b.receiver.snapshots, [])
  })

  scenario('messages of a member are accepted under its own name only', async (harness) => {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const b = await startMember(harness, { name: 'n2', id: 2 })
    a.transport.setPeers([a.info, b.info])
    b.transport.setPeers([{ ...a.info, name: 'n3' }, b.info])
    await dropped(a, b)
  })
}
