/*
 * Goal: ticks follow time and are never counted early; an idle member wakes only when the core has
 * something to do, until there is work or a message that needs timeouts. Method: a clock that moves
 * by hand, and a core that counts ticks until its next heartbeat or election.
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
const [heartbeatTicks, electionTicks] = [heartbeatMs / tickMs, electionMs / tickMs]
const quietMs = quietHeartbeats * heartbeatMs
const quietTicks = quietMs / tickMs
const heartbeat = { kind: 'core', message: { kind: 'heartbeat', from: peer, to: self } } as PeerMessage
const vote = { kind: 'core', message: { kind: 'pre-vote-request', from: peer, to: self } } as PeerMessage

/** Counts ticks as the core does, and begins again when a leader has sent its heartbeats. */
class Core {
  leader: NodeId | null
  elapsed = 0
  interval = heartbeatTicks
  elections = 0

  constructor(leader: NodeId | null) {
    this.leader = leader
  }

  get ticksUntilDue(): number {
    return Math.max(1, (this.leader === self ? this.interval : electionTicks) - this.elapsed)
  }

  get ticksUntilTimeout(): number {
    return this.leader === self ? Infinity : this.ticksUntilDue
  }

  tick(): void {
    this.elapsed++
    if (this.leader === self && this.elapsed >= this.interval) this.elapsed = 0
    if (this.leader === peer && this.elapsed >= electionTicks) this.elections++
  }
}

class Member {
  readonly clock = new ManualClock()
  readonly core: Core
  ticks = 0
  mayStall = false
  /** How often the timer reported that more time had passed than it passed as ticks. */
  late = 0
  /** The times at which the timer passed ticks. */
  readonly passed: number[] = []
  readonly timer: TickTimer

  constructor(leader: NodeId | null) {
    this.core = new Core(leader)
    this.timer = new TickTimer({
      ...{ clock: this.clock, timing: defaultTiming, core: this.core, mayStall: () => this.mayStall },
      pass: (ticks, isLate) => {
        this.ticks += ticks
        this.late += isLate ? 1 : 0
        this.passed.push(this.clock.monotonicMs())
        for (let tick = 0; tick < ticks; tick++) this.core.tick()
      },
    })
  }

  /** Receives a heartbeat. @param isQuiet it announces that the next one comes later */
  receives(isQuiet = false): void {
    this.timer.received(heartbeat)
    this.core.elapsed = isQuiet ? heartbeatTicks - quietTicks : 0
    this.timer.handled()
  }

  /** Receives a heartbeat in each interval. */
  async heartbeats(count: number): Promise<void> {
    for (let beat = 0; beat < count; beat++) {
      await this.clock.advance(heartbeatMs)
      this.receives()
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
  const member = new Member(null)
  assert.equal(await member.wakesIn(40 * tickMs), 40)
  assert.equal(member.ticks, 40)
})

void test('an idle leader wakes for each heartbeat, and all ticks are counted', async () => {
  const member = new Member(self)
  await member.clock.advance(heartbeatMs)
  member.ticks = 0
  assert.equal(await member.wakesIn(10 * heartbeatMs), 10)
  assert.equal(member.ticks, 10 * heartbeatTicks)
})

void test('a leader with rare heartbeats wakes only for them, and at once for an earlier one', async () => {
  const member = new Member(self)
  await member.clock.advance(heartbeatMs)
  member.core.interval = quietTicks
  member.timer.handled()
  assert.equal(await member.wakesIn(4 * quietMs), 4)
  member.core.interval = heartbeatTicks
  member.timer.handled()
  assert.equal(await member.wakesIn(heartbeatMs), 1)
})

void test('an idle follower does not wake while heartbeats come, and counts all ticks', async () => {
  const member = new Member(peer)
  await member.heartbeats(3)
  const [ticks, wakes] = [member.ticks, member.passed.length]
  await member.heartbeats(20)
  assert.equal(member.ticks - ticks, 20 * heartbeatTicks)
  assert.equal(member.passed.length - wakes, 20, 'ticks are passed only before the heartbeats')
})

void test('a follower with rare heartbeats does not wake before the next one', async () => {
  const member = new Member(peer)
  await member.heartbeats(3)
  member.receives(true)
  assert.equal(await member.wakesIn(quietMs), 0)
  member.receives(true)
  assert.equal(await member.wakesIn(quietMs), 0)
})

void test('a follower whose heartbeat is late ticks one by one before an election is due', async () => {
  const member = new Member(peer)
  await member.heartbeats(3)
  const receivedMs = member.clock.monotonicMs()
  await member.clock.advance(electionMs)
  const late = member.passed.filter((atMs) => atMs > receivedMs + electionMs / 2)
  assert.equal(late.length, electionTicks / 2)
  assert.equal(member.core.elections, 1)
})

void test('a follower ticks in time when its timeouts become shorter', async () => {
  const member = new Member(peer)
  await member.heartbeats(3)
  member.receives(true)
  await member.clock.advance(heartbeatMs)
  // As when a client begins to wait for the leader.
  member.timer.taken({ kind: 'read', round: 1, withHeartbeat: false })
  member.core.elapsed = 0
  member.timer.handled()
  await member.clock.advance(electionMs - 1)
  assert.equal(member.core.elections, 0)
  await member.clock.advance(1)
  assert.equal(member.core.elections, 1)
})

void test('ticks are passed before a message, never more than time allows', async () => {
  const member = new Member(peer)
  await member.heartbeats(3)
  const [receivedMs, ticks] = [member.clock.monotonicMs(), member.ticks]
  await member.clock.advance(2.5 * tickMs)
  member.timer.received(heartbeat)
  assert.equal(member.ticks - ticks, Math.floor((member.clock.monotonicMs() - receivedMs) / tickMs))
})

void test('work ends an idle time at once, for a while', async () => {
  const member = new Member(self)
  await member.clock.advance(5 * heartbeatMs)
  member.core.interval = quietTicks
  member.timer.handled()
  assert.equal(await member.wakesIn(quietMs), 1)
  member.timer.taken({ kind: 'report', to: null, bytes: new Uint8Array() })
  assert.equal(await member.wakesIn(heartbeatMs), 0, 'idle members send reports')
  member.timer.taken({ kind: 'read', round: 1, withHeartbeat: false })
  assert.equal(await member.wakesIn(heartbeatMs), 0, 'idle members check that they are up to date')
  member.timer.taken({ kind: 'transfer', request: 1, to: peer })
  assert.equal(await member.wakesIn(heartbeatMs), 1)
  member.timer.taken({ kind: 'installed', index: logIndex(1) })
  assert.equal(await member.wakesIn(heartbeatMs), 1)
  await member.clock.advance(quietMs)
  assert.equal(await member.wakesIn(quietMs), 1, 'it is idle again')
})

void test('a member whose work is overdue is not idle', async () => {
  const member = new Member(self)
  await member.clock.advance(5 * heartbeatMs)
  member.core.interval = quietTicks
  member.mayStall = true
  member.timer.handled()
  assert.equal(await member.wakesIn(quietMs), quietMs / heartbeatMs)
})

void test('a message other than a heartbeat ends an idle time', async () => {
  const member = new Member(peer)
  await member.heartbeats(3)
  member.receives(true)
  assert.equal(await member.wakesIn(heartbeatMs), 0)
  member.timer.received(vote)
  assert.equal(await member.wakesIn(heartbeatMs), 1)
})

void test('a member with much work passes ticks with its messages, and its timer fires rarely', async () => {
  const member = new Member(self)
  await member.clock.advance(5 * heartbeatMs)
  member.ticks = 0
  let timers = 0
  for (let at = 0; at < 10 * heartbeatTicks; at++) {
    timers += await member.wakesIn(tickMs)
    member.timer.received(vote)
    member.timer.handled()
  }
  assert.equal(member.ticks, 10 * heartbeatTicks)
  assert.ok(timers <= 10, `${timers}`)
})

void test('after a pause of the process few ticks are passed, fewer than an election takes', async () => {
  for (const isQuiet of [false, true]) {
    const member = new Member(peer)
    await member.heartbeats(3)
    member.receives(isQuiet)
    member.clock.pause(10_000)
    member.timer.received(heartbeat)
    assert.ok(member.core.ticksUntilDue > heartbeatTicks)
    const after = member.ticks
    await member.clock.advance(tickMs - 1)
    assert.equal(member.ticks, after, 'the time of the pause is not passed later')
    assert.equal(member.late, 1)
  }
})

void test('a timer that is a little late does not begin an election by itself', async () => {
  for (const isQuiet of [false, true]) {
    const member = new Member(peer)
    await member.heartbeats(3)
    member.receives(isQuiet)
    const aheadTicks = member.core.ticksUntilDue - 1
    member.clock.pause(aheadTicks * tickMs)
    await member.clock.advance(0)
    assert.equal(member.core.elections, 0)
    assert.equal(member.late, 0)
  }
})

void test('a timer that is late loses only the time by which it is late', async () => {
  for (const isQuiet of [false, true]) {
    const member = new Member(peer)
    await member.heartbeats(3)
    member.receives(isQuiet)
    const dueMs = member.core.ticksUntilDue * tickMs
    // A little later than a member waits at most for its timer.
    const lateMs = 5 * tickMs + 1
    const pauseMs = dueMs - 5 * tickMs + lateMs
    member.clock.pause(pauseMs)
    await member.clock.advance(dueMs + lateMs - pauseMs)
    assert.equal(member.core.elections, 1, `${isQuiet}`)
  }
})

void test('a leader whose timer is late sends its heartbeat at once', async () => {
  const member = new Member(self)
  await member.clock.advance(heartbeatMs)
  member.core.interval = 64
  member.timer.handled()
  // It is set for 48 ticks at most.
  for (const [ahead, left] of [
    [48, 16],
    [16, 0],
  ] as const) {
    member.clock.pause((ahead + 6) * tickMs)
    await member.clock.advance(0)
    assert.equal(member.core.elapsed, left === 0 ? 0 : 64 - left)
  }
})

void test('a timer that fires a little early is not set again for the rest', async () => {
  const member = new Member(self)
  await member.clock.advance(heartbeatMs)
  // Messages before its time have the same effect.
  await member.clock.advance(heartbeatMs - 3)
  const before = member.ticks
  member.timer.taken({ kind: 'report', to: null, bytes: new Uint8Array() })
  assert.equal(member.ticks, before + heartbeatTicks)
  member.timer.handled()
  assert.equal(await member.wakesIn(heartbeatMs), 0)
  assert.equal(await member.wakesIn(3), 1)
  assert.equal(member.ticks, before + 2 * heartbeatTicks)
})

void test('a stopped timer passes nothing', async () => {
  const member = new Member(peer)
  member.timer.stop()
  member.timer.handled()
  await member.clock.advance(10 * heartbeatMs)
  assert.equal(member.ticks, 0)
})

void test('ticks are passed before a client begins to wait for the leader', async () => {
  const member = new Member(peer)
  await member.heartbeats(3)
  const { ticks } = member
  await member.clock.advance(3 * tickMs)
  member.timer.taken({ kind: 'read', round: 1, withHeartbeat: false })
  assert.equal(member.ticks - ticks, 3)
})
