/*
 * Goal: each claim about consensus has a checker that detects violations.
 * Method: three logs with the messages of their threads written by hand; for each claim a valid
 * message and an invalid one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../base/assert.ts'
import { logIndex, nodeId, noSnapshot, term } from '../../../raft/index.ts'
import type { Configuration, Entry, PeerMessage, RecoveredLog } from '../../../raft/index.ts'
import type { LogStore } from '../../../raft/ports.ts'
import { checkCommitDurable, isQuorum } from '../../simulation/checkers/commit-quorum.ts'
import { checkConfiguration } from '../../simulation/checkers/configurations.ts'
import { ElectionSafety } from '../../simulation/checkers/election-safety.ts'
import { EqualState } from '../../simulation/checkers/equal-state.ts'
import { LogSafety } from '../../simulation/checkers/log-safety.ts'
import { DurablePromises } from '../../simulation/checkers/durable-promises.ts'
import { ReadIndexes } from '../../simulation/checkers/read-index.ts'
import { describe, ShadowLog } from '../../simulation/checkers/shadow-log.ts'
import type { Placed } from '../../simulation/checkers/shadow-log.ts'

type CoreMessage = Extract<PeerMessage, { readonly kind: 'core' }>['message']

function finds(claim: RegExp, check: () => void): void {
  assert.throws(check, (cause) => cause instanceof BrokenInvariant && claim.test(cause.message))
}

function voting(...ids: readonly number[]): Configuration {
  return { ...noSnapshot.configuration, voters: ids.map(nodeId) }
}

function entry(index: number, ofTerm: number): Entry {
  return { index: logIndex(index), term: term(ofTerm), kind: 'empty' }
}

/** The logs of members 1, 2 and 3. */
class Logs {
  readonly committed: number[] = []
  readonly safety = new LogSafety(({ index }) => this.committed.push(index))
  #ticket = 1

  constructor() {
    for (const member of [1, 2, 3]) this.open(member, [])
  }

  open(
    member: number,
    entries: readonly Entry[],
    hard: { term: number; vote: number | null } | null = null,
  ): void {
    const base = { ...noSnapshot, configuration: voting(1, 2, 3) }
    const recovered: RecoveredLog = {
      ...{
        logId: '',
        base,
        configuration: base.configuration,
        termRuns: [],
        configurations: [],
        bytes: 0,
        repaired: null,
      },
      hardState: {
        term: term(hard?.term ?? 0),
        vote: hard?.vote === null || hard === null ? null : nodeId(hard.vote),
        commit: logIndex(0),
      },
      lastIndex: logIndex(entries.length),
      lastTerm: term(0),
    }
    const store: LogStore = {
      recovered,
      append: () => undefined,
      read: () => entries,
      compact: () => undefined,
      trim: () => true,
      close: () => undefined,
    }
    this.safety.opened(member, store)
  }

  /** @param isDurable whether the log thread acknowledged it */
  write(
    member: number,
    of: { readonly entries?: readonly Entry[]; readonly term?: number; readonly vote?: number },
    isDurable = true,
  ): void {
    const ticket = this.#ticket++
    const vote = of.vote === undefined ? null : nodeId(of.vote)
    const hardState = of.term === undefined ? null : { term: term(of.term), vote, commit: logIndex(0) }
    this.safety.wrote(member, { kind: 'write', ticket, snapshot: null, entries: of.entries ?? [], hardState })
    if (isDurable)
      this.safety.answered(member, { kind: 'persisted', ticket, syncMs: 0, writes: 1, size: null })
  }
}

void test('I1: two leaders of one term are found', () => {
  const elections = new ElectionSafety()
  elections.leads(1, 1)
  elections.leads(1, 1)
  elections.leads(2, 2)
  finds(/^I1 /, () => elections.leads(3, 2))
})

void test('I1: a leader without durable votes of a quorum is found', () => {
  for (const isDurable of [true, false]) {
    const logs = new Logs()
    const promises = new DurablePromises(logs.safety.logs)
    logs.write(1, { term: 1, vote: 1 })
    logs.write(2, { term: 1, vote: 1 }, isDurable)
    if (isDurable) promises.leads(1, 1)
    else finds(/^I1 votes/, () => promises.leads(1, 1))
  }
})

void test('I2: entries of the same index and term with different predecessors are found', () => {
  const logs = new Logs()
  logs.write(1, { entries: [entry(1, 1), entry(2, 2)] })
  logs.write(2, { entries: [entry(1, 1), entry(2, 2)] })
  finds(/^I2 /, () => logs.write(3, { entries: [entry(1, 2), entry(2, 2)] }))
})

void test('I5: an entry dropped in its own term or after its commit is found, an unneeded one may be dropped', () => {
  const own = new Logs()
  own.write(1, { entries: [entry(1, 2), entry(2, 2)], term: 2 })
  own.write(1, { entries: [entry(1, 2), entry(2, 2)] })
  finds(/^I5 append only/, () => own.write(1, { entries: [entry(1, 2)] }))
  const committed = new Logs()
  for (const member of [1, 2]) committed.write(member, { entries: [entry(1, 1), entry(2, 1)], term: 1 })
  committed.safety.commits(1, 2)
  finds(/^I5 append only/, () => committed.write(2, { entries: [entry(1, 1)], term: 3 }))
  const unneeded = new Logs()
  unneeded.write(1, { entries: [entry(1, 1), entry(2, 1)], term: 1 })
  unneeded.write(1, { entries: [entry(2, 3)], term: 3 })
})

void test('I3: a leader without entries committed before its term is found', () => {
  const logs = new Logs()
  for (const member of [1, 2]) logs.write(member, { entries: [entry(1, 1)], term: 1 })
  logs.safety.commits(1, 1)
  logs.safety.leads(2, 2)
  finds(/^I3 /, () => logs.safety.leads(3, 2))
})

void test('I4: two entries committed at one index, and a commit of a missing entry, are found', () => {
  const logs = new Logs()
  logs.write(1, { entries: [entry(1, 1)] })
  logs.write(2, { entries: [entry(1, 2)] })
  logs.safety.commits(1, 1)
  assert.deepEqual(logs.committed, [1])
  finds(/^I4 /, () => logs.safety.commits(2, 1))
  finds(/^I4 /, () => logs.safety.commits(3, 1))
})

void test('I4: two digests at one index, and I12: a member that goes back, are found', () => {
  const states = new EqualState()
  states.applied(1, 5, 'a')
  states.applied(2, 5, 'a')
  finds(/^I4 /, () => states.applied(3, 5, 'b'))
  finds(/^I12 /, () => states.applied(1, 4, 'a'))
  states.started(1)
  states.applied(1, 4, 'z')
})

void test('I5: a committed entry that is durable on too few members is found', () => {
  const logs = new Logs()
  const one = entry(1, 1)
  const committed = { index: 1, description: describe(one) }
  logs.write(1, { entries: [one] })
  logs.write(2, { entries: [one] }, false)
  finds(/^I5 /, () => checkCommitDurable(logs.safety.logs, 1, committed))
  logs.write(3, { entries: [one] })
  checkCommitDurable(logs.safety.logs, 1, committed)
})

void test('I5: both majorities of a joint configuration count', () => {
  const joint: Configuration = { ...voting(1, 2, 3), votersOutgoing: [nodeId(3), nodeId(4), nodeId(5)] }
  assert.equal(
    isQuorum(joint, (member) => member <= 3),
    false,
  )
  assert.equal(
    isQuorum(joint, (member) => member <= 4),
    true,
  )
})

void test('I5 and I6: durable state that is lost after a restart is found', () => {
  const before = (): Logs => {
    const logs = new Logs()
    logs.write(1, { entries: [entry(1, 1), entry(2, 1)], term: 2, vote: 3 })
    logs.write(1, { entries: [entry(3, 1)] }, false)
    return logs
  }
  before().open(1, [entry(1, 1), entry(2, 1)], { term: 2, vote: 3 })
  // A later term's entries may have been in progress.
  before().open(1, [entry(1, 1), entry(2, 2)], { term: 2, vote: 3 })
  finds(/^I5 /, () => before().open(1, [entry(1, 1)], { term: 2, vote: 3 }))
  finds(/^I6 /, () => before().open(1, [entry(1, 1), entry(2, 1)], { term: 1, vote: null }))
  finds(/^I6 /, () => before().open(1, [entry(1, 1), entry(2, 1)], { term: 2, vote: null }))
})

void test('I5 and I6: a message sent before the state that it depends on is durable is found', () => {
  const address = { from: nodeId(1), to: nodeId(2), term: term(1) }
  const position = { lastIndex: logIndex(0), lastTerm: term(0) }
  const request: CoreMessage = { kind: 'vote-request', ...address, ...position, transfer: false }
  const grant: CoreMessage = { kind: 'vote-response', ...address, granted: true }
  const accept: CoreMessage = { kind: 'append-accepted', ...address, index: logIndex(1) }
  const cases: readonly (readonly [
    RegExp,
    CoreMessage,
    { term?: number; vote?: number; entries?: Entry[] },
  ])[] = [
    [/^I6 /, request, { term: 1, vote: 1 }],
    [/^I6 /, grant, { term: 1, vote: 2 }],
    [/^I5 /, accept, { term: 1, entries: [entry(1, 1)] }],
  ]
  for (const [claim, message, write] of cases) {
    const logs = new Logs()
    const promises = new DurablePromises(logs.safety.logs)
    logs.write(1, { term: 1 })
    logs.write(1, write, false)
    finds(claim, () => promises.sent(message))
    logs.write(1, write)
    promises.sent(message)
  }
  const logs = new Logs()
  finds(/^I6 term/, () => new DurablePromises(logs.safety.logs).sent(grant))
  new DurablePromises(logs.safety.logs).sent({ kind: 'vote-response', ...address, granted: false })
})

void test('I5: an entry acknowledged in an earlier term may be replaced when the acknowledgement is sent', () => {
  const logs = new Logs()
  const promises = new DurablePromises(logs.safety.logs)
  const accept = (ofTerm: number): CoreMessage => ({
    ...{ kind: 'append-accepted', from: nodeId(1), to: nodeId(2), term: term(ofTerm), index: logIndex(2) },
  })
  logs.write(1, { term: 1, entries: [entry(1, 1), entry(2, 1)] })
  promises.sent(accept(1))
  logs.write(1, { term: 2, entries: [entry(1, 2)] })
  promises.sent(accept(1))
  finds(/^I5 /, () => promises.sent(accept(2)))
})

void test('I7: a change on an uncommitted change, and a step that splits majorities, are found', () => {
  const change = (
    index: number,
    configuration: Configuration,
  ): Extract<Entry, { kind: 'configuration' }> => ({
    ...{ index: logIndex(index), term: term(1), kind: 'configuration', configuration },
  })
  const before = { ...noSnapshot, configuration: voting(1, 2, 3) }
  const step = (to: Configuration, from: Placed = before, isDecided = true): void =>
    checkConfiguration(1, from, change(from.index + 1, to), isDecided)
  step(voting(1, 2, 3, 4))
  finds(/^I7 step/, () => step(voting(1, 2, 3, 4, 5)))
  const joint: Configuration = { ...voting(4, 5), votersOutgoing: voting(1, 2, 3).voters }
  step(joint)
  finds(/^I7 step/, () => step({ ...joint, votersOutgoing: voting(1, 2).voters }))
  step(voting(4, 5), change(1, joint))
  finds(/^I7 one change/, () => step(voting(4, 5), change(1, joint), false))
  finds(/^I7 step/, () => step(voting(4), change(1, joint)))
})

void test('I8: a member that campaigns without being a voter is found', () => {
  const log = new ShadowLog()
  log.begin(
    { ...noSnapshot, configuration: voting(2, 3) },
    { term: term(1), vote: nodeId(1), commit: logIndex(0) },
  )
  const request: CoreMessage = {
    ...{ kind: 'vote-request', to: nodeId(2), term: term(1), lastIndex: logIndex(0), lastTerm: term(0) },
    ...{ from: nodeId(1), transfer: false },
  }
  finds(/^I8 /, () => new DurablePromises(new Map([[1, log]])).sent(request))
  const elected = new DurablePromises(new Map([[1, log]]))
  log.hardState = { term: term(1), vote: nodeId(1) }
  const winner = new ShadowLog()
  winner.begin(
    { ...noSnapshot, configuration: voting(2) },
    { term: term(1), vote: nodeId(2), commit: logIndex(0) },
  )
  const promises = new DurablePromises(
    new Map([
      [1, log],
      [2, winner],
    ]),
  )
  promises.leads(2, 1)
  // Member 2 was elected, and demoted member 1 to learner while the disk of member 1 was stalled.
  promises.sent(request)
  finds(/^I8 /, () => elected.sent(request))
  // Member 1 was demoted to learner in a later term, while its disk was stalled.
  log.hardState = { term: term(2), vote: null }
  new DurablePromises(new Map([[1, log]])).sent(request)
})

void test('I9: a read answered before the first entry of its term is committed is found', () => {
  const reads = new ReadIndexes()
  const answer = (ofTerm: number, index: number | null): PeerMessage => ({
    ...{ kind: 'read-response', from: nodeId(1), to: nodeId(2), term: term(ofTerm), round: 1 },
    index: index === null ? null : logIndex(index),
  })
  const another: PeerMessage = {
    ...{
      kind: 'read-request',
      from: nodeId(2),
      to: nodeId(1),
      term: term(2),
      round: 2,
      withHeartbeat: false,
    },
  }
  const turn = (...answers: readonly PeerMessage[]): void => {
    for (const message of answers) reads.sent(message)
    reads.sent(another)
  }
  reads.committed(entry(1, 1))
  turn(answer(1, 1), answer(2, null))
  finds(/^I9 /, () => turn(answer(2, 1)))
  reads.committed(entry(2, 2))
  finds(/^I9 /, () => turn(answer(2, 1)))
})

void test('I9: an only voter may answer in the turn in which it commits', () => {
  const reads = new ReadIndexes()
  const ends = { from: nodeId(1), to: nodeId(2), term: term(2), round: 1 }
  reads.sent({ ...ends, kind: 'read-response', index: logIndex(3) })
  reads.committed(entry(3, 2))
  reads.sent({ ...ends, kind: 'read-request', from: nodeId(2), to: nodeId(1), withHeartbeat: false })
})
