/*
 * Goal: leadership goes to a healthy member, is offered to one after another, and stays if no other
 * can take it.
 * Method: a fake core of a leader that records the targets of transfers; time in ticks of 10 ms.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import type { CoreStatus, FollowerStatus } from '../../../../raft/core/ready.ts'
import { LeadershipTransferPolicy } from '../../../../raft/driver/leadership-transfer-policy.ts'
import type { TransferCore } from '../../../../raft/driver/leadership-transfer-policy.ts'

const limits = { stallMsMax: 3000, stallCooldownMs: 30_000 }
/** An election timeout: then the core abandons a transfer. */
const transferMs = 300

class FakeCore implements TransferCore {
  readonly offered: { readonly to: NodeId; readonly atMs: number }[] = []
  nowMs = 0
  leader: NodeId = nodeId(1)
  commit = logIndex(8)
  persisted = 5
  followers: FollowerStatus[] = [follower(2, 9), follower(3, 8)]
  readonly resignedMs: number[] = []
  #offer: { readonly to: NodeId; readonly endsMs: number } | null = null

  status(): CoreStatus {
    if (this.#offer !== null && this.nowMs >= this.#offer.endsMs) this.#offer = null
    return {
      id: nodeId(1),
      role: this.leader === 1 ? 'leader' : 'follower',
      term: term(1),
      leader: this.leader,
      configuration: { ...emptyConfiguration, voters: [nodeId(1), nodeId(2), nodeId(3)] },
      vote: nodeId(1),
      commit: this.commit,
      lastIndex: logIndex(9),
      firstIndex: logIndex(1),
      persistedIndex: logIndex(this.persisted),
      transferTarget: this.#offer?.to ?? null,
      decided: emptyConfiguration,
      followers: this.followers,
    }
  }

  transferLeadership(to: NodeId): { readonly kind: 'accepted' } {
    this.offered.push({ to, atMs: this.nowMs })
    this.#offer = { to, endsMs: this.nowMs + transferMs }
    return { kind: 'accepted' }
  }

  resign(): { readonly kind: 'accepted' } {
    this.resignedMs.push(this.nowMs)
    return { kind: 'accepted' }
  }
}

/** @param sent entries after `match` that it has not acknowledged */
function follower(id: number, match: number, recentlyActive = true, sent = 0): FollowerStatus {
  return {
    id: nodeId(id),
    state: 'replicate',
    match: logIndex(match),
    next: logIndex(match + 1 + sent),
    recentlyActive,
  }
}

/** @param unserved ids of followers that need a snapshot, while none can be opened */
function run(
  core: FakeCore,
  policy: LeadershipTransferPolicy,
  untilMs: number,
  unserved: readonly number[] = [],
): void {
  for (; core.nowMs <= untilMs; core.nowMs += 10) policy.tick(core.nowMs, (id) => unserved.includes(id))
}

function waitingForSnapshot(id: number): FollowerStatus {
  return { ...follower(id, 3), state: 'snapshot' }
}

function made(): { readonly core: FakeCore; readonly policy: LeadershipTransferPolicy } {
  const core = new FakeCore()
  return { core, policy: new LeadershipTransferPolicy(nodeId(1), core, limits) }
}

void test('a stalled leader tries the voter furthest along, then the next, then keeps leadership', () => {
  const { core, policy } = made()
  policy.applying.start(0)
  run(core, policy, 2500)
  assert.equal(core.offered.length, 0, 'two seconds and a half are less than three')
  run(core, policy, 25_000)
  assert.deepEqual(
    core.offered.map(({ to }) => to),
    [2, 3],
  )
  const [first, second] = core.offered.map(({ atMs }) => atMs)
  assert.ok((second ?? 0) - (first ?? 0) >= transferMs, 'one at a time')
})

void test('a leader whose api thread is stalled transfers leadership, even while its log and all followers write', () => {
  const { core, policy } = made()
  core.persisted = 8
  core.followers = [follower(2, 8, true, 1), follower(3, 8, true, 1)]
  policy.applying.start(0)
  for (; core.nowMs <= 4000; core.nowMs += 10) {
    policy.writing.stop(core.nowMs, true)
    policy.tick(core.nowMs, () => false)
  }
  assert.deepEqual(
    core.offered.map(({ to }) => to),
    [2, 3],
  )
})

void test('a successful transfer ends the attempt', () => {
  const { core, policy } = made()
  policy.applying.start(0)
  run(core, policy, 3100)
  core.leader = nodeId(2)
  run(core, policy, 25_000)
  assert.deepEqual(
    core.offered.map(({ to }) => to),
    [2],
  )
})

void test('an attempt that found no voter in contact is repeated as soon as there is one', () => {
  const { core, policy } = made()
  core.followers = [follower(2, 9, false), follower(3, 8, false)]
  policy.applying.start(0)
  run(core, policy, 6000)
  assert.equal(core.offered.length, 0)
  core.followers = [follower(2, 9)]
  run(core, policy, 6010)
  assert.equal(core.offered.length, 1)
})

void test('a leader whose disk the quorum needs keeps leadership, because no other could be elected without it', () => {
  const { core, policy } = made()
  core.persisted = 8
  core.followers = [follower(2, 9), follower(3, 8, true, 1)]
  policy.writing.start(0)
  run(core, policy, 10_000)
  assert.equal(core.offered.length, 0)
  core.commit = logIndex(9)
  run(core, policy, 10_010)
  assert.equal(core.offered.length, 1, 'now the others commit without it')
})

void test('commits of the others before their disks stalled too do not justify a transfer', () => {
  const { core, policy } = made()
  core.persisted = 5
  core.followers = [follower(2, 9), follower(3, 8, true, 1)]
  policy.writing.start(0)
  run(core, policy, 10_000)
  assert.equal(core.offered.length, 0, 'no other could be elected, and no read would be confirmed')
  core.followers = [follower(2, 9), follower(3, 9)]
  run(core, policy, 10_010)
  assert.equal(core.offered.length, 1, 'now they write again')
})

void test('followers that lack only entries of the stalled disk can elect another leader', () => {
  const { core, policy } = made()
  core.persisted = 8
  core.followers = [follower(2, 9), follower(3, 3)]
  policy.writing.start(0)
  run(core, policy, 4000)
  assert.deepEqual(
    core.offered.map(({ to }) => to),
    [2, 3],
  )
})

void test('transferAway repeats its attempts until its deadline', () => {
  const { core, policy } = made()
  policy.transferAway(0, 2000)
  assert.equal(core.offered.length, 1, 'at once')
  run(core, policy, 10_000)
  assert.deepEqual(
    core.offered.map(({ to }) => to),
    [2, 3, 2, 3, 2, 3, 2],
  )
})

void test('a stalled member declines leadership', () => {
  const { policy } = made()
  assert.equal(policy.mayTakeOver(10_000), true)
  policy.writing.start(10_000)
  assert.equal(policy.mayTakeOver(10_400), true)
  assert.equal(policy.mayTakeOver(10_600), false)
  policy.writing.stop(10_700, false)
  assert.equal(policy.mayTakeOver(10_800), true)
})

void test('a leader that cannot open a snapshot for followers in contact that need one resigns', () => {
  for (const state of ['snapshot', 'probe'] as const) {
    const { core, policy } = made()
    core.followers = [{ ...waitingForSnapshot(2), state }, follower(3, 9, false)]
    run(core, policy, 2500, [2])
    assert.deepEqual(core.resignedMs, [], 'it may still open one')
    run(core, policy, 30_000, [2])
    assert.equal(core.resignedMs.length, 1, 'once in the cooldown')
    run(core, policy, 36_000, [2])
    assert.equal(core.resignedMs.length, 2, 'it leads again, and nothing has improved')
    assert.equal(policy.counts.resigned, 2)
    assert.deepEqual(core.offered, [])
  }
})

const useful: readonly (readonly [
  what: string,
  followers: readonly FollowerStatus[],
  unserved: readonly number[],
])[] = [
  ['that sends a snapshot', [waitingForSnapshot(2), follower(3, 9, false)], []],
  ['with a follower that has the log', [waitingForSnapshot(2), follower(3, 9)], [2]],
  ['whose follower has caught up since', [follower(2, 9), follower(3, 9, false)], [2]],
  ['without a quorum in contact', [follower(2, 9, false), follower(3, 9, false)], [2]],
]

for (const [what, followers, unserved] of useful) {
  void test(`a leader ${what} does not resign`, () => {
    const { core, policy } = made()
    core.followers = [...followers]
    run(core, policy, 20_000, unserved)
    assert.deepEqual(core.resignedMs, [])
  })
}

void test('a follower served in time ends the wait, and so does another leader', () => {
  const { core, policy } = made()
  for (let round = 0; round < 5; round++) {
    core.followers = [waitingForSnapshot(2), follower(3, 9, false)]
    run(core, policy, core.nowMs + 2000, [2])
    if (round % 2 === 0) core.followers = [follower(2, 9)]
    else core.leader = nodeId(2)
    run(core, policy, core.nowMs + 100, [2])
    core.leader = nodeId(1)
  }
  assert.deepEqual(core.resignedMs, [])
})
