/*
 * Goal: a leader without clients, whose timer fires rarely, still transfers leadership in time when
 * its api thread is stalled, and still leads after a short pause of its process, and when one
 * follower stops.
 * Method: the driver with a manual clock; its followers are cores, and the test plays the log and
 * the api thread.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import type { Message } from '../../../../raft/core/message.ts'
import { Raft } from '../../../../raft/core/raft.ts'
import { nodeId, noSnapshot } from '../../../../raft/core/types.ts'
import { Driver } from '../../../../raft/driver/driver.ts'
import { MemoryLog } from '../../../../raft/log/memory-log.ts'
import type { Transport } from '../../../../raft/ports.ts'
import { coreConfigOf, defaultLimits, defaultTiming } from '../../../../raft/protocol/node-options.ts'
import type { NodeTiming } from '../../../../raft/protocol/node-options.ts'
import type { RaftToApi } from '../../../../raft/protocol/thread-messages.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const self = nodeId(1)
const configuration = cluster([1, 2, 3])

/** Member 1 as the leader of two followers, which answer at once. */
class Bench {
  readonly clock = new ManualClock()
  readonly sent: { readonly message: Message; readonly atMs: number }[] = []
  /** Whether the api thread reports what it applied. */
  applies = true
  answerDelayMs = 0
  readonly down = new Set<number>()
  readonly driver: Driver
  readonly #followers: ReadonlyMap<number, Raft>

  constructor(t: TestContext, timing: NodeTiming) {
    const node = { id: self, members: [], timing, limits: defaultLimits }
    const { recovered: empty } = new MemoryLog()
    const recovered = { ...empty, base: { ...empty.base, configuration } }
    const follower = (id: number): [number, Raft] => {
      const core = new Raft(coreConfigOf({ ...node, id: nodeId(id) }, new SeededRandom(id)), recovered)
      core.setWallTime(this.clock.wallMs())
      return [id, core]
    }
    this.#followers = new Map([2, 3].map(follower))
    const transport: Transport = {
      start: async () => undefined,
      setPeers: () => undefined,
      send: (message) => {
        if (message.kind === 'core') this.#deliver(message.message)
      },
      refuse: (_peer, violation) => assert.fail(violation),
      sendSnapshot: async () => undefined,
      close: async () => undefined,
    }
    this.driver = new Driver(
      {
        ...{ node, clock: this.clock, random: new SeededRandom(1), transport, recovered },
        api: {
          post: (message) => this.#api(message),
          flush: () => undefined,
          onMessages: () => undefined,
          close: () => undefined,
        },
        log: {
          write: (ticket) => this.clock.soon(() => this.driver.written(ticket)),
          fetch: () => undefined,
          compact: () => undefined,
          trim: () => undefined,
        },
        flush: () => undefined,
        onBroken: (cause) => assert.fail(cause),
      },
      noSnapshot,
    )
    t.after(() => this.driver.stop())
  }

  /** The times at which a message of this kind was sent since `sinceMs`. */
  times(kind: Message['kind'], sinceMs: number): readonly number[] {
    return this.sent.filter((one) => one.message.kind === kind && one.atMs >= sinceMs).map(({ atMs }) => atMs)
  }

  #api(message: RaftToApi): void {
    if (message.kind !== 'committed' || !this.applies) return
    this.clock.soon(() => this.driver.take({ kind: 'applied', index: message.commit, credit: 0 }))
  }

  #deliver(message: Message): void {
    this.sent.push({ message, atMs: this.clock.monotonicMs() })
    const follower = this.#followers.get(message.to)
    assert.ok(follower !== undefined)
    if (message.kind === 'timeout-now' || this.down.has(message.to)) return
    follower.step(message)
    while (follower.hasReady()) {
      const { messagesAtOnce, persist } = follower.ready()
      if (persist !== null) follower.persisted(persist.ticket)
      const answers = [...messagesAtOnce, ...(persist?.messages ?? [])]
      for (const answer of answers.filter(({ to }) => to === self)) {
        this.clock.after(this.answerDelayMs, () => this.driver.receive({ kind: 'core', message: answer }))
      }
    }
  }
}

void test('a leader without clients transfers leadership when its api thread is stalled', async (t) => {
  for (const timing of [defaultTiming, { ...defaultTiming, heartbeatMs: 500, electionMs: 1500 }]) {
    const bench = new Bench(t, timing)
    bench.applies = false
    await bench.clock.advance(2 * timing.electionMs + 100)
    const [electedMs] = bench.times('vote-request', 0)
    assert.ok(electedMs !== undefined)
    await bench.clock.advance(8000)
    const [offeredMs] = bench.times('timeout-now', 0)
    const { stallMsMax } = defaultLimits
    assert.ok(offeredMs !== undefined, 'it offers leadership')
    assert.ok(offeredMs >= electedMs + stallMsMax - 200, `${offeredMs - electedMs}`)
    assert.ok(offeredMs <= electedMs + stallMsMax + 1000, `${offeredMs - electedMs}`)
  }
})

void test('a leader without clients sends heartbeats right after a pause, and leads on', async (t) => {
  for (const timing of [defaultTiming, { ...defaultTiming, heartbeatMs: 500, electionMs: 1500 }]) {
    const bench = new Bench(t, timing)
    await bench.clock.advance(2 * timing.electionMs + 5000)
    assert.equal(bench.times('vote-request', 0).length, 2)
    const before = bench.times('heartbeat', 0).at(-1)
    assert.ok(before !== undefined)
    const quietMs = 5 * timing.heartbeatMs
    await bench.clock.advance(before + quietMs - bench.clock.monotonicMs() - 1)
    const pausedMs = bench.clock.monotonicMs()
    bench.clock.pause(201)
    await bench.clock.advance(timing.tickMs)
    assert.ok(bench.times('heartbeat', pausedMs).length > 0, 'the heartbeat that was due')
    await bench.clock.advance(timing.heartbeatMs)
    const last = bench.sent.at(-1)?.message
    assert.ok(last?.kind === 'heartbeat' && last.quiet !== true, 'the next one comes soon')
    await bench.clock.advance(2 * quietMs)
    assert.equal(bench.times('vote-request', pausedMs).length, 0)
    assert.ok(bench.times('heartbeat', pausedMs + quietMs).length > 0)
  }
})

void test('a leader without clients that is paused before it reads the answers to a heartbeat leads on', async (t) => {
  for (const pauseMs of [200, 240, 300, 400, 510, 600]) {
    const bench = new Bench(t, defaultTiming)
    await bench.clock.advance(5000)
    const before = bench.times('heartbeat', 0).at(-1)
    assert.ok(before !== undefined)
    // The answers to the next heartbeat wait until the pause is over.
    bench.answerDelayMs = pauseMs + 1
    await bench.clock.advance(before + 500 - bench.clock.monotonicMs())
    assert.equal(bench.times('heartbeat', before + 1).length, 2, 'one for each follower')
    bench.clock.pause(pauseMs)
    bench.answerDelayMs = 0
    const pausedMs = bench.clock.monotonicMs()
    await bench.clock.advance(1000)
    assert.equal(bench.times('pre-vote-request', pausedMs).length, 0, `${pauseMs}`)
    assert.ok(bench.times('heartbeat', pausedMs + 500).length > 0, `${pauseMs}`)
  }
})

void test('a leader without clients leads on when one of its followers stops', async (t) => {
  for (const noticedMs of [10, 210, 460, null]) {
    for (const lateMs of [0, 80]) {
      // The phase of CheckQuorum differs from heartbeat to heartbeat.
      for (let beats = 0; beats < 3; beats++) {
        const bench = new Bench(t, defaultTiming)
        await bench.clock.advance(5000 + beats * 500)
        const before = bench.times('heartbeat', 0).at(-1)
        assert.ok(before !== undefined)
        await bench.clock.advance(before + 500 + (noticedMs ?? 10) - bench.clock.monotonicMs())
        bench.down.add(2)
        const stoppedMs = bench.clock.monotonicMs()
        if (noticedMs !== null) bench.driver.unreachable(nodeId(2))
        while (bench.clock.monotonicMs() < stoppedMs + 3000) {
          const waitMs = bench.clock.nextAtMs - bench.clock.monotonicMs()
          // The timer of ticks may be a little late; what others sent is read at once.
          bench.clock.pause(waitMs > 0 ? waitMs + lateMs : 0)
          await bench.clock.advance(0)
        }
        const votes = bench.times('pre-vote-request', stoppedMs).length
        assert.equal(votes, 0, `after ${noticedMs} ms, ${lateMs} ms late, heartbeat ${beats}`)
      }
    }
  }
})
