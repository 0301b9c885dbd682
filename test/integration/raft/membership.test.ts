/*
 * Goal: while clients write, a cluster grows from three to five, replaces a dead member, loses its
 * leader to a removal, shrinks to three, and keeps every acknowledged line; a removed member learns
 * of its removal.
 * Method: members of this process; inline ones over memory, threaded ones over gRPC and real files.
 * The longest time between two acknowledgements is printed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultLimits, memberTextBytesMax, nodeId } from '../../../raft/index.ts'
import type { MemberChange } from '../../../raft/index.ts'
import { endsWith } from '../../support/tools/stop-after-test.ts'
import { clock, RaftFleet, soon, until } from '../../support/drivers/raft-cluster.ts'
import type { FleetMember } from '../../support/drivers/raft-cluster.ts'

/** Writes through the running members and records the acknowledged lines. */
class Writers {
  readonly acknowledged: string[] = []
  longestGapMs = 0
  readonly #fleet: RaftFleet
  readonly #running: Promise<void>[]
  #stopped = false
  #lastMs = clock.monotonicMs()

  constructor(fleet: RaftFleet, count: number) {
    this.#fleet = fleet
    this.#running = Array.from({ length: count }, (_, at) => this.#run(at))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  async #run(writer: number): Promise<void> {
    for (let at = 0; !this.#stopped; at++) {
      // Clients avoid a member that is not ready, as it has no leader yet.
      const members = [...this.#fleet.members.values()].filter(
        ({ removed, node }) => removed.length === 0 && node.status.leader !== null,
      )
      const member = members[(writer + at) % members.length]
      if (member === undefined) {
        await new Promise((resolve) => clock.after(1, () => resolve(undefined)))
        continue
      }
      const line = `${writer}.${at}`
      const result = await member.node.propose(new TextEncoder().encode(line), soon(5_000))
      if (result.kind !== 'applied') continue
      const now = clock.monotonicMs()
      this.longestGapMs = Math.max(this.longestGapMs, now - this.#lastMs)
      this.#lastMs = now
      this.acknowledged.push(line)
      await new Promise((resolve) => clock.after(1, () => resolve(undefined)))
    }
  }
}

function votersAt({ node }: FleetMember): readonly number[] {
  return node.status.configuration.votersOutgoing === null ? [...node.status.configuration.voters] : []
}

async function untilVoters(fleet: RaftFleet, voters: readonly number[]): Promise<void> {
  await until(`the voters are ${voters.join()}`, () =>
    voters.every((id) => String(votersAt(fleet.member(id))) === String(voters)),
  )
}

for (const kind of ['inline', 'threads'] as const) {
  void test(`${kind}: a cluster grows, replaces a dead member, loses its leader and shrinks under writes`, async (t) => {
    const fleet = new RaftFleet(kind)
    try {
      await fleet.found(1, 2, 3)
      await fleet.leader()
      const writers = new Writers(fleet, 4)
      endsWith(t, writers)
      const reported = (what: string): void =>
        t.diagnostic(`${what}: longest gap ${writers.longestGapMs.toFixed(0)} ms`)
      await fleet.join(4, { by: 2 })
      await fleet.join(5, { by: 4 })
      await untilVoters(fleet, [1, 2, 3, 4, 5])
      reported('grown to five')

      const dead = (await fleet.leader()).info.id === 3 ? 2 : 3
      await fleet.stop(dead)
      await fleet.join(6, { by: 1, replaces: dead })
      const replaced = [1, 2, 3, 4, 5, 6].filter((id) => id !== dead)
      await untilVoters(fleet, replaced)
      reported('replaced')

      const leader = await fleet.leader()
      const [other] = [...fleet.members.keys()].filter((id) => id !== leader.info.id)
      const { configuration } = await fleet.changed(other ?? 0, { kind: 'remove', id: leader.info.id })
      assert.ok(!configuration.voters.includes(leader.info.id))
      await until('the former leader knows', () => leader.removed.length === 1)
      assert.match(
        leader.removed[0] ?? '',
        /^this member was removed from its cluster.*: empty its data directory/,
      )
      const late = fleet.change(leader.info.id, { kind: 'remove', id: nodeId(99) })
      await assert.rejects(late, { code: 'stopped', message: /^this member was removed/ })
      reported('leader removed')
      await fleet.stop(leader.info.id)

      const [requested, gone, ...stay] = replaced.filter((id) => id !== leader.info.id)
      assert.ok(requested !== undefined && gone !== undefined)
      const out = fleet.member(gone)
      await fleet.changed(requested, { kind: 'remove', id: nodeId(gone) })
      await until('it knows', () => out.removed.length === 1)
      await untilVoters(fleet, [requested, ...stay])
      reported('shrunk to three')

      await writers.stop()
      await fleet.stop(gone)
      assert.ok(writers.acknowledged.length > 10, `${writers.acknowledged.length} lines`)
      for (const { node, machine } of fleet.members.values()) {
        await node.barrier(soon(30_000))
        const lines = new Set(machine.lines)
        assert.equal(lines.size, machine.lines.length, 'each took effect once')
        for (const line of writers.acknowledged) assert.ok(lines.has(line), `${line} is there`)
      }
    } finally {
      await fleet.close()
    }
  })
}

void test('a member that joins after the log was compacted catches up by snapshot', async () => {
  const fleet = new RaftFleet('inline', { ...defaultLimits, retentionEntries: 10 })
  try {
    await fleet.found(1)
    const { node } = fleet.member(1)
    for (let at = 0; node.status.firstIndex <= 50; at++) {
      await node.propose(new TextEncoder().encode(`line ${at}`), soon(5_000))
    }
    const { machine } = await fleet.join(2, { by: 1 })
    await untilVoters(fleet, [1, 2])
    await until('it has all lines', () => machine.lines.length === fleet.member(1).machine.lines.length)
  } finally {
    await fleet.close()
  }
})

void test('a change already in force succeeds, an invalid one is refused with a remedy', async () => {
  const fleet = new RaftFleet('inline')
  try {
    await fleet.found(1, 2, 3)
    await fleet.leader()
    const four = await fleet.infoOf(4)
    const late = await fleet.addition({ by: 2 }, four)
    const first = await fleet.changed(2, late)
    const again = await fleet.changed(3, await fleet.addition({ by: 3 }, four))
    assert.deepEqual([again.index, again.configuration], [first.index, first.configuration])
    const namesake = await fleet.addition({ by: 1 }, { ...four, id: nodeId(5) })
    await assert.rejects(fleet.change(1, namesake), {
      code: 'name-taken',
      message: /^a member is called "m4": /,
    })
    await assert.rejects(fleet.change(2, { kind: 'promote', id: nodeId(4) }), { code: 'not-caught-up' })
    await fleet.changed(3, { kind: 'remove', id: nodeId(4) })
    await fleet.changed(1, { kind: 'remove', id: nodeId(4) })
    await assert.rejects(fleet.change(2, late), { code: 'id-taken' })
    const moved = await fleet.changed(1, {
      kind: 'move',
      id: nodeId(3),
      peerAddress: null,
      clientAddress: 'new:1',
    })
    assert.equal(moved.configuration.members.find(({ id }) => id === 3)?.clientAddress, 'new:1')
  } finally {
    await fleet.close()
  }
})

void test('an invalid member or address is refused by any member, and no process ends', async () => {
  const fleet = new RaftFleet('inline')
  try {
    await fleet.found(1, 2, 3)
    await fleet.leader()
    const addition = await fleet.addition({ by: 1 }, await fleet.infoOf(4))
    assert.ok(addition.kind === 'add')
    const { member, basedOn } = addition
    const texts = { long: `${'a'.repeat(memberTextBytesMax)}:1`, wide: `${'\u00e9'.repeat(200)}:1` }
    const impossible: MemberChange[] = [
      ...[2 ** 50, -1, 0.5].map((featureLevel) => ({ ...member, featureLevel })),
      ...Object.values(texts).map((clientAddress) => ({ ...member, clientAddress })),
      ...['', texts.long, 'x:65536'].map((peerAddress) => ({ ...member, peerAddress })),
      { ...member, version: texts.long },
    ].map((wanted) => ({ kind: 'add', member: wanted, basedOn }))
    for (const peerAddress of ['', texts.long, texts.wide, 'x:65536']) {
      impossible.push({ kind: 'move', id: nodeId(3), peerAddress, clientAddress: null })
    }
    impossible.push({ kind: 'move', id: nodeId(3), peerAddress: null, clientAddress: texts.wide })
    for (const change of impossible) {
      for (const requested of [1, 2, 3])
        await assert.rejects(fleet.change(requested, change), { code: 'impossible' })
    }
    const longest = `${'a'.repeat(memberTextBytesMax - 2)}:1`
    const moved = { kind: 'move', id: nodeId(3), peerAddress: null, clientAddress: longest } as const
    const { configuration } = await fleet.changed(1, moved)
    assert.equal(configuration.members.find(({ id }) => id === 3)?.clientAddress, longest)
  } finally {
    await fleet.close()
  }
})

void test('a voter whose role is set to learner votes again once its role is voter', async () => {
  const fleet = new RaftFleet('inline')
  try {
    await fleet.found(1, 2, 3)
    await fleet.join(4, { by: 1 })
    await untilVoters(fleet, [1, 2, 3, 4])
    await fleet.changed(2, { kind: 'set-role', id: nodeId(4), role: 'learner' })
    await untilVoters(fleet, [1, 2, 3])
    await fleet.changed(4, { kind: 'set-role', id: nodeId(4), role: 'voter' })
    await untilVoters(fleet, [1, 2, 3, 4])
  } finally {
    await fleet.close()
  }
})

void test('a follower accepts a request to transfer leadership', async () => {
  const fleet = new RaftFleet('inline')
  try {
    await fleet.found(1, 2, 3)
    const leader = await fleet.leader()
    const [requested, target] = [1, 2, 3].filter((id) => id !== leader.info.id)
    assert.ok(requested !== undefined && target !== undefined)
    await until('the leader is known', () => fleet.member(requested).node.status.leader !== null)
    await fleet.member(requested).node.transferLeadership(nodeId(target), soon(30_000))
    await until('it leads', () => fleet.member(target).node.status.role === 'leader')
  } finally {
    await fleet.close()
  }
})

void test('a removal that would leave no live quorum is refused, and the error names the silent member', async () => {
  const fleet = new RaftFleet('inline')
  try {
    await fleet.found(1, 2, 3)
    const leader = await fleet.leader()
    const [lost, requested] = [1, 2, 3].filter((id) => id !== leader.info.id)
    assert.ok(lost !== undefined && requested !== undefined)
    await fleet.stop(lost)
    await until('the leader noticed that the stopped member does not respond', () =>
      [...fleet.members.values()].some(({ node }) =>
        node.status.followers.some(({ id, recentlyActive }) => id === lost && !recentlyActive),
      ),
    )
    const removal = fleet.change(leader.info.id, { kind: 'remove', id: nodeId(requested) })
    await assert.rejects(removal, {
      code: 'below-live-quorum',
      message: new RegExp(`^no change could be committed without "m${lost}": start them, `),
    })
  } finally {
    await fleet.close()
  }
})
