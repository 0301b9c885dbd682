/*
 * Goal: ticks follow time and are never counted early; an idle member wakes seldom, until there is
 * work, a late heartbeat or another message. Method: a clock that moves by hand, with heartbeats as
 * a leader sends them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import { TickTimer } from '../../../../raft/driver/tick-timer.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import { defaultTiming, quietHeartbeats } from '../../../../raft/protocol/node-options.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const [self, peer] = [nodeId(1), nodeId(2)]
const { tickMs, heartbeatMs, electionMs } = defaultTiming
const heartbeat = { kind: 'core', message: { kind: 'heartbeat', from: peer, to: self } } as PeerMessage
const quietHeartbeat = {
  kind: 'core',
  message: { kind: 'heartbeat', from: peer, to: self, quiet: true },
} as PeerMessage
const vote = { kind: 'core', message: { kind: 'pre-vote-request', from: peer, to: self } } as PeerMessage

class Member {
  readonly clock = new ManualClock()
  readonly core: { leader: NodeId | null } = { leader: peer }
  ticks = 0
  /** How often the timer reported that more time had passed than it passed as ticks. */
  late = 0
  /** The times at which the timer passed ticks. */
  readonly passed: number[] = []
  readonly timer = new TickTimer({
    ...{ clock: this.clock, timing: defaultTiming, self, core: this.core },
    pass: (ticks, isLate) => {
      this.ticks += ticks
      this.late += isLate ? 1 : 0
      this.passed.push(this.clock.monotonicMs())
    },
  })

  /** Receives a heartbeat in each interval. */
  async heartbeats(count: number): Promise<void> {
    for (let beat = 0; beat < count; beat++) {
      await this.clock.advance(heartbeatMs)
      this.timer.received(heartbeat)
    }
  }

  /** Returns how often the timer passes ticks in this time. */
  async wakesIn(ms: number): Promise<number> {
    const before = this.passed.length
    await this.clock.advance(ms)
    return this.passed.length - before
  }
}

void test('without a leader, each tick is passed by itself', async () => {
  const member = new Member()
  member.core.leader = null
  assert.equal(await member.wakesIn(40 * tickMs), 40)
  assert.equal(member.ticks, 40)
})

void test('an idle leader wakes for each heartbeat, and all ticks are counted', async () => {
  const member = new Member()
  member.core.leader = self
  await member.clock.advance(heartbeatMs)
  member.ticks = 0
  assert.equal(await member.wakesIn(10 * heartbeatMs), 10)
  assert.equal(member.ticks, (10 * heartbeatMs) / tickMs)
})

void test('an idle follower wakes about as often as heartbeats come, and counts all ticks', async () => {
  const member = new Member()
  await member.heartbeats(3)
  const [ticks, wakes] = [member.ticks, member.passed.length]
  await member.heartbeats(20)
  assert.equal(member.ticks - ticks, (20 * heartbeatMs) / tickMs)
  assert.ok(member.passed.length - wakes <= 40, `${member.passed.length - wakes} wakes`)
})

void test('a follower with rare heartbeats wakes only as often as the limit of ticks at once requires', async () => {
  const member = new Member()
  await member.heartbeats(3)
  member.timer.received(quietHeartbeat)
  assert.equal(
    await member.wakesIn(quietHeartbeats * heartbeatMs),
    (quietHeartbeats * heartbeatMs) / (5 * tickMs),
  )
})

void test('a follower whose heartbeat is late ticks one by one before an election is due', async () => {
  const member = new Member()
  await member.heartbeats(3)
  const receivedMs = member.clock.monotonicMs()
  await member.clock.advance(electionMs)
  const late = member.passed.filter((atMs) => atMs >= receivedMs + 1.5 * heartbeatMs)
  assert.equal(late.length, (electionMs - 1.5 * heartbeatMs) / tickMs + 1)
})

void test('ticks are passed before a message, never more than time allows', async () => {
  const member = new Member()
  await member.heartbeats(3)
  const [receivedMs, ticks] = [member.clock.monotonicMs(), member.ticks]
  await member.clock.advance(2.5 * tickMs)
  member.timer.received(heartbeat)
  assert.equal(member.ticks - ticks, Math.floor((member.clock.monotonicMs() - receivedMs) / tickMs))
})

void test('work ends an idle time at once, for a while', async () => {
  const member = new Member()
  member.core.leader = self
  await member.clock.advance(5 * heartbeatMs)
  member.timer.taken({ kind: 'report', to: null, bytes: new Uint8Array() })
  assert.equal(await member.wakesIn(heartbeatMs), 1, 'idle members send reports')
  member.timer.taken({ kind: 'read', round: 1 })
  assert.equal(await member.wakesIn(heartbeatMs), 1, 'idle members check that they are up to date')
  member.timer.taken({ kind: 'transfer', request: 1, to: peer })
  assert.ok((await member.wakesIn(heartbeatMs)) >= heartbeatMs / tickMs)
  member.timer.taken({ kind: 'installed', index: logIndex(1) })
  await member.clock.advance(1000)
  assert.equal(await member.wakesIn(heartbeatMs), 1)
})

void test('a message other than a heartbeat ends an idle time', async () => {
  const member = new Member()
  await member.heartbeats(3)
  member.timer.received(vote)
  await member.clock.advance(2 * heartbeatMs)
  assert.equal(await member.wakesIn(heartbeatMs), heartbeatMs / tickMs)
})

void test('after a pause of the process few ticks are passed, fewer than an election takes', async () => {
  const member = new Member()
  await member.heartbeats(3)
  const before = member.ticks
  member.clock.pause(10_000)
  member.timer.received(heartbeat)
  assert.ok((member.ticks - before) * tickMs + heartbeatMs < electionMs)
  const after = member.ticks
  await member.clock.advance(tickMs - 1)
  assert.equal(member.ticks, after, 'the time of the pause is not passed later')
  assert.equal(member.late, 1)
})

void test('a stopped timer passes nothing', async () => {
  const member = new Member()
  member.timer.stop()
  await member.clock.advance(10 * heartbeatMs)
  assert.equal(member.ticks, 0)
})

void test('ticks are passed before a client begins to wait for the leader', async () => {
  const member = new Member()
  await member.heartbeats(3)
  const { ticks } = member
  await member.clock.advance(3 * tickMs)
  member.timer.taken({ kind: 'read', round: 1 })
  assert.equal(member.ticks - ticks, 3)
})
