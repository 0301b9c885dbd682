import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Message } from '../../../../raft/core/message.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: each rule of the Raft paper that one member follows by itself.
 * Method: one core with scripted peers. `thesis.test.ts` continues with the thesis.
 */

const one = { from: nodeId(2), to: nodeId(1) }

void test('paper 5.1: a follower, a pre-candidate and a leader become followers of a later term', () => {
  const follower = new Solo({ term: 1 })
  const candidate = new Solo({ term: 1 })
  candidate.raft.campaign()
  const leader = new Solo({ term: 1 })
  leader.lead()
  assert.equal(leader.raft.status().role, 'leader')
  for (const solo of [follower, candidate, leader]) {
    solo.receive({ kind: 'heartbeat', ...one, term: term(9), commit: logIndex(0), context: null })
    const { role, term: now, leader: of } = solo.raft.status()
    assert.deepEqual([role, now, of], ['follower', 9, 2])
  }
})

void test('paper 5.1: a request of an earlier term is refused with the current term', () => {
  const solo = new Solo({ term: 5, log: [1] })
  solo.receive(solo.append(2, 4, [1, 4], 1, 2))
  assert.deepEqual(solo.terms(), [1])
  assert.equal(solo.takeOnly('heartbeat-response').term, 5)
  solo.receive({
    kind: 'vote-request',
    ...one,
    term: term(4),
    lastIndex: logIndex(9),
    lastTerm: term(4),
    transfer: false,
  })
  const answer = solo.takeOnly('vote-response')
  assert.deepEqual([answer.granted, answer.term], [false, 5])
})

void test('paper 5.2: a follower without a leader campaigns after one to two election timeouts, as drawn', () => {
  const waits = new Set<number>()
  for (let round = 0; round < 30; round++) {
    const solo = new Solo({ options: { random: { below: () => round % 10, bytes: () => new Uint8Array() } } })
    let ticks = 0
    while (solo.raft.status().role === 'follower') {
      solo.tick(1)
      ticks++
    }
    waits.add(ticks)
  }
  assert.deepEqual(
    [...waits].sort((a, b) => a - b),
    [10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
  )
})

void test('paper 5.2: a follower with contact to its leader does not campaign', () => {
  const solo = new Solo()
  for (let round = 0; round < 100; round++) {
    solo.receive({ kind: 'heartbeat', ...one, term: term(1), commit: logIndex(0), context: null })
    solo.tick(5)
    assert.equal(solo.raft.status().role, 'follower')
  }
})

void test('paper 5.2: a member votes once in a term, first come first served, and repeats its vote', () => {
  const solo = new Solo()
  const ask = (from: number): boolean => {
    solo.take()
    solo.receive({
      kind: 'vote-request',
      from: nodeId(from),
      to: nodeId(1),
      term: term(1),
      lastIndex: logIndex(0),
      lastTerm: term(0),
      transfer: false,
    })
    return solo.takeOnly('vote-response').granted
  }
  assert.equal(ask(2), true)
  assert.equal(ask(3), false)
  assert.equal(ask(2), true)
})

void test('paper 5.2: a vote survives a crash', () => {
  const solo = new Solo({ term: 3, vote: 2 })
  const request: Message = {
    kind: 'vote-request',
    from: nodeId(3),
    to: nodeId(1),
    term: term(3),
    lastIndex: logIndex(9),
    lastTerm: term(3),
    transfer: false,
  }
  solo.receive(request)
  assert.equal(solo.takeOnly('vote-response').granted, false)
})

void test('paper 5.2: a candidate with a majority becomes leader, not before, and sends heartbeats at once', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3, 4, 5]) })
  solo.raft.campaign()
  solo.work()
  for (const from of [2, 3]) {
    solo.receive({
      kind: 'pre-vote-response',
      from: nodeId(from),
      to: nodeId(1),
      term: term(1),
      granted: true,
    })
  }
  const vote = (from: number, granted: boolean): void =>
    solo.receive({ kind: 'vote-response', from: nodeId(from), to: nodeId(1), term: term(1), granted })
  assert.equal(solo.raft.status().role, 'candidate')
  vote(2, true)
  vote(2, true)
  assert.equal(solo.raft.status().role, 'candidate')
  solo.take()
  vote(3, true)
  assert.equal(solo.raft.status().role, 'leader')
  assert.deepEqual(
    solo.takeAll('append-request').map((message) => message.to),
    [2, 3, 4, 5],
  )
})

void test('paper 5.2: a pre-candidate refused by a majority becomes a follower', () => {
  const solo = new Solo()
  solo.raft.campaign()
  for (const from of [2, 3]) {
    solo.receive({
      kind: 'pre-vote-response',
      from: nodeId(from),
      to: nodeId(1),
      term: term(0),
      granted: false,
    })
  }
  assert.equal(solo.raft.status().role, 'follower')
})

void test('paper 5.2: a candidate that receives a message of the leader of its term follows it', () => {
  const solo = new Solo()
  solo.raft.campaign()
  solo.receive({ kind: 'pre-vote-response', ...one, term: term(1), granted: true })
  assert.equal(solo.raft.status().role, 'candidate')
  solo.receive({ ...solo.from(3), kind: 'heartbeat', commit: logIndex(0), context: null })
  assert.deepEqual([solo.raft.status().role, solo.raft.leader], ['follower', 3])
})

void test('paper 5.2: a leader sends a heartbeat every heartbeat interval', () => {
  const solo = new Solo()
  solo.lead()
  solo.tick(3)
  assert.equal(solo.takeAll('heartbeat').length, 6)
})

void test('paper 5.2: a leader refuses another leader of its term', () => {
  const solo = new Solo()
  solo.lead()
  assert.match(
    String(solo.refuses(solo.append(2, 1, [], 0, 0))),
    /claims to lead term 1, but this member leads it/,
  )
  assert.equal(solo.raft.status().role, 'leader')
})

void test('paper 5.3: an entry is committed once a majority has it, and the follower that completed it learns the commit index', () => {
  const solo = new Solo()
  solo.lead()
  solo.propose('a')
  assert.equal(solo.raft.commit, 1)
  solo.take()
  solo.acceptAll(3)
  assert.equal(solo.raft.commit, 2)
  const sent = solo.takeAll('append-request').filter((message) => message.to === 3)
  assert.deepEqual(
    sent.map((message) => message.commit),
    [2],
  )
})

void test('paper 5.3: a follower refuses an append whose previous entry it lacks or has with another term', () => {
  const solo = new Solo({ log: [1, 1, 2], term: 3 })
  solo.receive(solo.append(2, 3, [1, 1, 2, 3, 3], 4, 0))
  assert.deepEqual([solo.takeOnly('append-refused').index, solo.terms()], [4, [1, 1, 2]])
  solo.receive(solo.append(2, 3, [1, 3, 3, 3], 3, 0))
  assert.deepEqual([solo.takeOnly('append-refused').index, solo.terms()], [3, [1, 1, 2]])
})

void test('paper 5.3: a follower replaces conflicting entries by those of the leader', () => {
  const solo = new Solo({ log: [1, 1, 2, 2], term: 2 })
  solo.receive(solo.append(2, 3, [1, 1, 3], 2, 0))
  assert.deepEqual(solo.terms(), [1, 1, 3])
  assert.equal(solo.takeOnly('append-accepted').index, 3)
})

void test('paper 5.3: an old append does not truncate a log that a later one extended', () => {
  const solo = new Solo()
  solo.receive(solo.append(2, 1, [1, 1, 1], 0, 0))
  solo.receive(solo.append(2, 1, [1], 0, 0))
  assert.deepEqual(solo.terms(), [1, 1, 1])
})

void test('paper 5.3: a follower commits no further than the end of the append', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1 })
  solo.receive(solo.append(2, 2, [1, 1], 1, 3))
  assert.equal(solo.raft.commit, 2)
})

void test('paper 5.3: a committed entry is never overwritten', () => {
  const solo = new Solo({ log: [1, 1], term: 1, commit: 2 })
  for (const previous of [0, 1, 2]) {
    const contradicts = solo.append(2, 2, [1, 2, 2], previous, 0)
    assert.match(
      String(solo.refuses(contradicts)),
      /entry 2 is of term 2, but it is committed here and of term 1/,
    )
    assert.deepEqual([solo.terms(), solo.take()], [[1, 1], []])
  }
})

void test('paper 5.3: figure 7: every follower ends with the log of the leader', () => {
  const leader = [1, 1, 1, 4, 4, 5, 5, 6, 6, 6]
  const followers = {
    a: [1, 1, 1, 4, 4, 5, 5, 6, 6],
    b: [1, 1, 1, 4],
    c: [1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6],
    d: [1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7],
    e: [1, 1, 1, 4, 4, 4, 4],
    f: [1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3],
  }
  for (const [name, log] of Object.entries(followers)) {
    const lead = new Solo({ log: leader, term: 7 })
    lead.lead([2], 'silent')
    const follow = new Solo({ log, term: 7 })
    lead.tick(1)
    let refusals = 0
    for (let round = 0; round < 20; round++) {
      follow.take()
      for (const message of lead.take()) {
        if (message.to === 3) follow.receive({ ...message, to: nodeId(1), from: nodeId(2) })
      }
      for (const message of follow.take()) {
        if (message.kind === 'append-refused') refusals++
        lead.receive({ ...message, from: nodeId(3), to: nodeId(1) })
      }
      lead.tick(round % 3 === 2 ? 1 : 0)
    }
    assert.deepEqual(follow.terms(), [...leader, 8], `follower ${name}`)
    assert.ok(refusals <= 3, `follower ${name} refused ${refusals} times`)
  }
})

void test('paper 5.4.1: a member does not vote for a candidate whose log is less up-to-date', () => {
  const cases = [
    { lastTerm: 2, lastIndex: 9, granted: false },
    { lastTerm: 3, lastIndex: 2, granted: false },
    { lastTerm: 3, lastIndex: 3, granted: true },
    { lastTerm: 3, lastIndex: 4, granted: true },
    { lastTerm: 4, lastIndex: 1, granted: true },
  ]
  for (const { lastTerm, lastIndex, granted } of cases) {
    const solo = new Solo({ log: [1, 2, 3], term: 4 })
    const last = { lastTerm: term(lastTerm), lastIndex: logIndex(lastIndex) }
    solo.receive({ kind: 'vote-request', ...one, term: term(5), ...last, transfer: false })
    assert.equal(solo.takeOnly('vote-response').granted, granted, `${lastTerm}/${lastIndex}`)
  }
})

void test('paper 5.4.2: figure 8: a leader counts replicas only for entries of its own term', () => {
  const solo = new Solo({ log: [1, 2], term: 3, commit: 1, configuration: cluster([1, 2, 3, 4, 5]) })
  solo.lead([2, 3], 'silent')
  for (const id of [2, 3]) solo.receive({ ...solo.from(id), kind: 'append-accepted', index: logIndex(2) })
  assert.equal(solo.raft.commit, 1)
  for (const id of [2, 3]) solo.receive({ ...solo.from(id), kind: 'append-accepted', index: logIndex(3) })
  assert.equal(solo.raft.commit, 3)
})

void test('paper 5.5: a repeated request changes nothing', () => {
  const solo = new Solo()
  const append = solo.append(2, 1, [1, 1], 0, 0)
  solo.receive(append)
  solo.receive(append)
  assert.deepEqual(solo.terms(), [1, 1])
  assert.deepEqual(
    solo.takeAll('append-accepted').map((message) => message.index),
    [2, 2],
  )
})

void test('paper 7: a snapshot beyond the log replaces it; one that the log contains does not', () => {
  const snapshot = (index: number, at: number): Message => ({
    kind: 'snapshot',
    from: nodeId(2),
    to: nodeId(1),
    term: term(3),
    snapshot: { index: logIndex(index), term: term(at), configuration: cluster([1, 2]) },
  })
  const ahead = new Solo({ log: [1, 1, 1], term: 2, commit: 1 })
  ahead.receive(snapshot(9, 2))
  const { firstIndex, lastIndex, commit, configuration } = ahead.raft.status()
  assert.deepEqual([firstIndex, lastIndex, commit, configuration.voters], [10, 9, 9, [1, 2]])
  assert.equal(ahead.takeOnly('append-accepted').index, 9)

  const contained = new Solo({ log: [1, 1, 1], term: 2, commit: 1 })
  contained.receive(snapshot(2, 1))
  assert.deepEqual([contained.terms(), contained.raft.commit], [[1, 1, 1], 2])

  const old = new Solo({ log: [1, 1, 1], term: 2, commit: 2 })
  old.receive(snapshot(1, 1))
  assert.deepEqual([old.terms(), old.raft.commit], [[1, 1, 1], 2])
  assert.equal(old.takeOnly('append-accepted').index, 2)
})

void test('paper 7: a snapshot that contradicts the log removes the conflicting suffix', () => {
  const solo = new Solo({ log: [1, 2, 2, 2], term: 2, commit: 1 })
  solo.receive({
    kind: 'snapshot',
    ...one,
    term: term(3),
    snapshot: { index: logIndex(3), term: term(3), configuration: cluster([1, 2, 3]) },
  })
  const { firstIndex, lastIndex } = solo.raft.status()
  assert.deepEqual([firstIndex, lastIndex], [4, 3])
})
