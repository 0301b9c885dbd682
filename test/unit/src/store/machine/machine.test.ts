/*
 * Goal: the log alone determines the state.
 * Method: examples of every command; one random log cut into batches in different ways.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { logIndex, term } from '../../../../../raft/index.ts'
import { digestOf } from '../../../../../src/store/machine/digest.ts'
import { hashText } from '../../../../../src/store/machine/hash.ts'
import { Machine } from '../../../../../src/store/machine/machine.ts'
import { emptyState, initialSettings } from '../../../../../src/store/machine/state.ts'
import { noRevision, revision } from '../../../../../src/store/revision.ts'
import { identityOf, randomCommand, smallSettings } from '../../../../../fixtures/store-commands.ts'
import {
  configMapKey,
  decoded,
  LogWriter,
  outcomeOf,
  ownSession,
  put,
  remove,
  write,
} from '../../../../../fixtures/store-kit.ts'

const key = configMapKey('a')

function start(): {
  machine: Machine
  log: LogWriter
  run: (...args: Parameters<LogWriter['command']>) => unknown
} {
  const machine = new Machine(emptyState())
  const log = new LogWriter()
  return { machine, log, run: (...args) => outcomeOf(machine.apply([log.command(...args)], ownSession)) }
}

function digest(machine: Machine): string {
  return hashText(digestOf(machine.state))
}

void test('each operation gets one revision, consecutive within its command', () => {
  const { machine, run } = start()
  assert.deepEqual(run(write(put(key, '1'), put(configMapKey('b'), '2'))), {
    kind: 'done',
    revisions: [1, 2],
  })
  assert.deepEqual(run(write(put(key, '3'), remove(key))), { kind: 'done', revisions: [3, 4] })
  assert.equal(machine.state.revision, 4)
  assert.equal(machine.state.objects.get(key), null)
  assert.equal(machine.state.history.note(revision(3)).lastOfCommand, false)
  assert.equal(machine.state.history.note(revision(4)).lastOfCommand, true)
})

void test('a command with a refused operation changes nothing, not even by the operations before it', () => {
  const { machine, run } = start()
  run(write(put(key, '1')))
  const outcome = run(write(put(configMapKey('b'), '2'), put(key, '3', { kind: 'absent' })))
  assert.deepEqual(outcome, { kind: 'refused', operation: 1, condition: { kind: 'absent' }, current: 1 })
  assert.equal(machine.state.revision, 1)
  assert.equal(machine.state.objects.get(configMapKey('b')), null)
})

void test('a command whose entry has another term than it was proposed for is void', () => {
  const { machine, log, run } = start()
  log.term = term(2)
  assert.equal(run(write(put(key, '1')), { expectedTerm: 1 }), 'void')
  assert.equal(machine.state.revision, 0)
})

void test('a void command may be retried with the same sequence', () => {
  const { log, run } = start()
  log.term = term(2)
  run(write(put(key, '1')), { sequence: 5, expectedTerm: 1 })
  assert.deepEqual(run(write(put(key, '1')), { sequence: 5 }), { kind: 'done', revisions: [1] })
})

void test('a command that arrives twice has one effect and one outcome', () => {
  const { machine, log, run } = start()
  const once = run(write(put(key, '1', { kind: 'absent' })), { sequence: 5 })
  log.term = term(2)
  const twice = run(write(put(key, '1', { kind: 'absent' })), { sequence: 5 })
  const stale = run(write(put(key, '1', { kind: 'absent' })), { sequence: 5, expectedTerm: 1 })
  assert.deepEqual([twice, stale], [once, once])
  assert.equal(machine.state.revision, 1)
})

void test('a late retry of an acknowledged command has neither effect nor outcome', () => {
  const { machine, log, run } = start()
  run(write(put(key, '1')), { sequence: 5, acknowledgedBelow: 5 })
  run(write(put(key, '2')), { sequence: 6, acknowledgedBelow: 6 })
  assert.deepEqual(
    machine.apply([log.command(write(put(key, '1')), { sequence: 5, acknowledgedBelow: 5 })], ownSession),
    [],
  )
  assert.equal(machine.state.revision, 2)
})

void test("only outcomes of the caller's session are returned", () => {
  const { machine, log } = start()
  const entries = [
    log.command(write(put(key, '1')), { session: 8 }),
    log.empty(),
    log.command(write(put(key, '2'))),
  ]
  const settled = machine.apply(entries, ownSession)
  assert.deepEqual(
    settled.map(({ index }) => index),
    [3],
  )
})

void test('entries at or below the applied index do nothing', () => {
  const { machine, log } = start()
  log.command(write(put(key, '1')))
  log.command(write(put(key, '2')))
  machine.apply(log.entries, ownSession)
  const before = digest(machine)
  assert.deepEqual(machine.apply(log.entries, ownSession), [])
  assert.equal(digest(machine), before)
  const later = { index: logIndex(9), term: term(1), kind: 'empty' } as const
  assert.throws(() => machine.apply([later], ownSession), /entries are applied without gaps/)
})

void test('the first bootstrap sets the identity of the cluster, any other does nothing', () => {
  const { machine, run } = start()
  const bootstrap = (clusterId: string): Parameters<LogWriter['command']>[0] => ({
    kind: 'bootstrap',
    identity: identityOf(clusterId),
    settings: { ...smallSettings, historyWindowMs: 1 },
    operations: [put(key, clusterId)],
    featureLevel: 1,
  })
  assert.equal(machine.state.identity, null)
  assert.deepEqual(machine.state.settings, initialSettings)
  assert.deepEqual(run(bootstrap('first')), { kind: 'done', revisions: [1] })
  assert.deepEqual(run(bootstrap('second')), { kind: 'nothing' })
  assert.deepEqual(machine.state.identity, identityOf('first'))
  assert.equal(machine.state.settings.historyWindowMs, 1)
  assert.equal(decoded(machine.state.objects.get(key) ?? assert.fail()).value, 'first')
})

void test('trimming keeps the minimum number of events of the settings', () => {
  const { machine, run } = start()
  run({ kind: 'change-settings', settings: { ...smallSettings, historyEventsMin: 3 } })
  for (let at = 1; at <= 10; at++) run(write(put(key, String(at))))
  assert.deepEqual(run({ kind: 'trim', upTo: revision(9) }), { kind: 'done', revisions: [] })
  assert.equal(machine.state.history.trimmed, 7)
  assert.deepEqual(run({ kind: 'trim', upTo: revision(7) }), { kind: 'nothing' })
  assert.deepEqual(run({ kind: 'trim', upTo: revision(10) }), { kind: 'nothing' })
})

void test('trimming history removes exactly its versions from the digest', () => {
  const { machine, run } = start()
  run({ kind: 'change-settings', settings: { ...smallSettings, historyEventsMin: 0 } })
  run(write(put(key, '1')))
  run(write(put(key, '2'), put(configMapKey('b'), '3')))
  run(write(remove(key), remove(configMapKey('b'))))
  run({ kind: 'trim', upTo: revision(5) })
  assert.deepEqual([...machine.state.versionsSum], [0, 0, 0, 0])
  const { made, gone } = machine.takeChanges()
  assert.deepEqual(
    [...gone].sort((a, b) => a - b),
    made.map((version) => version.revision),
  )
})

void test('the feature level only rises, and not beyond what this program supports', () => {
  const { run } = start()
  assert.deepEqual(run({ kind: 'raise-feature-level', level: 1 }), { kind: 'nothing' })
  assert.throws(() => run({ kind: 'raise-feature-level', level: 99 }), { code: 'unsupported' })
})

void test('idle sessions are removed by command, with their outcomes', () => {
  const { machine, run, log } = start()
  machine.apply([log.command(write(put(key, '1')), { session: 8 })], ownSession)
  run(write(put(key, '2')))
  assert.equal(machine.state.sessions.size, 2)
  assert.deepEqual(run({ kind: 'expire-sessions', before: 2 }), { kind: 'done', revisions: [] })
  assert.equal(machine.state.sessions.size, 1)
  assert.deepEqual(run({ kind: 'expire-sessions', before: 2 }), { kind: 'nothing' })
})

void test('the same log gives the same digest, however it is cut into batches', () => {
  const random = new SeededRandom(77)
  const log = new LogWriter()
  log.command({ kind: 'change-settings', settings: smallSettings })
  for (let step = 0; step < 2000; step++) {
    if (random.chance(0.01)) log.term = term(log.term + 1)
    const options = { session: 1 + random.below(3), ...(random.chance(0.05) ? { expectedTerm: 1 } : {}) }
    if (random.chance(0.02)) log.empty()
    else log.command(randomCommand(random, log.last), options)
  }
  const digests = new Map<number, string>()
  for (const batch of [1, 7, 100, 3000]) {
    const machine = new Machine(emptyState())
    let at = 0
    while (at < log.entries.length) {
      const size = 1 + random.below(batch)
      machine.apply(log.entries.slice(at, at + size), random.below(4))
      at = Math.min(at + size, log.entries.length)
      const seen = digests.get(at)
      if (seen !== undefined) assert.equal(digest(machine), seen, `at index ${at}`)
      digests.set(at, digest(machine))
      if (random.chance(0.3)) machine.takeChanges()
      if (random.chance(0.3)) machine.state.sessions.takeChanges()
    }
    assert.ok(machine.state.history.trimmed > noRevision)
  }
})
