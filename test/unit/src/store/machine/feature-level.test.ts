/*
 * Goal: members with old and new rules agree to the byte while the cluster is at the older level,
 * and the older one stops, unchanged, where the newer rules begin.
 * Method: one log of random commands, applied by machines with and without a limit; digests of
 * level 1 as the program before level 2 computed them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { term } from '../../../../../raft/index.ts'
import { digestOf } from '../../../../../src/store/machine/digest.ts'
import { hashText } from '../../../../../src/store/machine/hash.ts'
import { encodeHead } from '../../../../../src/store/machine/head.ts'
import { headOf } from '../../../../../src/store/machine/digest.ts'
import { Machine } from '../../../../../src/store/machine/machine.ts'
import { emptyState } from '../../../../../src/store/machine/state.ts'
import { featureLevelMax } from '../../../../../src/version.ts'
import { bootstrapOf, randomCommand, smallSettings } from '../../../../../fixtures/store-commands.ts'
import { LogWriter, ownSession } from '../../../../../fixtures/store-kit.ts'
import { digestsOf, randomLog } from '../../../../support/fixtures/store-machines.ts'

function digest(machine: Machine): string {
  return hashText(digestOf(machine.state))
}

/**
 * Computed by the last program that only supported level 1: seed, then the digest at index 100 and
 * 400.
 */
const known = [
  [1, 'f573d3bed7b1cf8b3c2a6ed6e30f2059', '9a085333cdaf243f00cf88151b3a7f12'],
  [2, '4f33c71c6d03dc582ba5e7364036fce9', '5089c0df2bcff5310b9f8b5e8310950a'],
  [3, '02e4bcacbea5f75fff109d63eab35111', '17cd0554089cace715c1369efc309ff9'],
] as const

for (const [seed, at100, at400] of known) {
  void test(`level 1 has its original digests, seed ${seed}`, () => {
    const digests = digestsOf(randomLog(seed, 400, 1))
    assert.deepEqual([digests[100], digests[400]], [at100, at400])
  })
}

/** Random commands, a raise to level 2 in the middle, and a quota that fills up after it. */
function risingLog(seed: number): { readonly log: LogWriter; readonly raisedAt: number } {
  const random = new SeededRandom(seed)
  const log = new LogWriter()
  log.command({ kind: 'change-settings', settings: smallSettings })
  const some = (): void => {
    for (let left = 400; left > 0; left--) {
      if (random.chance(0.02)) log.term = term(log.term + 1)
      log.command(randomCommand(random, log.last), { session: ownSession + random.below(3) })
    }
  }
  some()
  // A void command raises nothing.
  log.term = term(log.term + 1)
  log.command({ kind: 'raise-feature-level', level: 2 }, { expectedTerm: 1 })
  some()
  log.command({ kind: 'raise-feature-level', level: 2 })
  const raisedAt = log.last
  const tight = { ...smallSettings, objectBytesMax: 140, storageBytesMax: 12_000 }
  log.command({ kind: 'change-settings', settings: tight })
  some()
  return { log, raisedAt }
}

for (let seed = 1; seed <= 5; seed++) {
  void test(`old and new members agree up to the raise, new ones after it, seed ${seed}`, () => {
    const { log, raisedAt } = risingLog(seed)
    const [older, newer, batches] = [
      new Machine(emptyState(), 1),
      new Machine(emptyState()),
      new Machine(emptyState()),
    ]
    const outcomes = new Set<string>()
    let alarms = 0
    for (const entry of log.entries) {
      const settled = newer.apply([entry], ownSession)
      for (const { result } of settled) if (result.kind === 'applied') outcomes.add(result.outcome.kind)
      if (newer.state.storageAlarm) alarms++
      if (entry.index < raisedAt) {
        older.apply([entry], ownSession)
        assert.equal(digest(older), digest(newer), `at index ${entry.index}`)
      }
    }
    assert.equal(newer.state.featureLevel, 2)
    assert.ok(
      outcomes.has('too-large') && outcomes.has('over-quota') && alarms > 0,
      'the rules of level 2 had effects',
    )
    assert.ok(alarms < 400, 'and the alarm ended')
    batches.apply(log.entries, ownSession)
    assert.equal(digest(batches), digest(newer))

    const before = digest(older)
    const message = /feature level 2, this member is held back at 1: start it without --feature-level-max/
    assert.throws(() => older.apply(log.after(older.state.appliedIndex), ownSession), {
      code: 'unsupported',
      message,
    })
    assert.equal(digest(older), before, 'nothing of the entry is in its state')
    assert.equal(older.state.appliedIndex, raisedAt - 1)
  })
}

void test('a cluster begins at the level of its founder, which a limited member does not join', () => {
  const log = new LogWriter()
  const entry = log.command(bootstrapOf('c', { featureLevel: featureLevelMax }))
  const machine = new Machine(emptyState())
  machine.apply([entry], ownSession)
  assert.equal(machine.state.featureLevel, featureLevelMax)
  assert.throws(() => new Machine(emptyState(), 1).apply([entry], ownSession), { code: 'unsupported' })
  const raised = new Machine(emptyState())
  const other = new LogWriter()
  raised.apply([other.command({ kind: 'raise-feature-level', level: 2 })], ownSession)
  raised.apply([other.command(bootstrapOf('c', { featureLevel: 1 }))], ownSession)
  assert.equal(raised.state.featureLevel, 2, 'never back')
  // A second bootstrap has no effect, whatever it contains.
  machine.apply([log.command(bootstrapOf('d', { featureLevel: 99 }))], ownSession)
  assert.equal(machine.state.featureLevel, featureLevelMax)
})

void test('the format of the stored head changes with the level, so that older programs reject it as too new', () => {
  const machine = new Machine(emptyState())
  assert.equal(encodeHead(headOf(machine.state))[0], 1)
  machine.apply([new LogWriter().command({ kind: 'raise-feature-level', level: 2 })], ownSession)
  assert.equal(encodeHead(headOf(machine.state))[0], 2)
})

/** A log at `level`, an entry with an undecodable command, and commands after it. */
function poisonedLog(level: number, poison: Uint8Array): LogWriter {
  const random = new SeededRandom(9)
  const log = new LogWriter()
  if (level > 1) log.command({ kind: 'raise-feature-level', level })
  for (let left = 20; left > 0; left--) log.command(randomCommand(random, log.last))
  log.payload(poison, { session: ownSession, sequence: 1000, acknowledgedBelow: 1 })
  for (let left = 20; left > 0; left--) log.command(randomCommand(random, log.last))
  return log
}

for (const poison of [Uint8Array.of(0xff), Uint8Array.of(), Uint8Array.of(0x92, 1, 99)]) {
  const bytes = `[${[...poison].join(' ')}]`
  void test(`from level 3 on a committed command that cannot be decoded has no effect on any member: ${bytes}`, () => {
    const log = poisonedLog(3, poison)
    const one = new Machine(emptyState())
    const results = one.apply(log.entries, ownSession)
    const ofPoison = results.find(({ sequence }) => sequence === 1000)
    assert.deepEqual(ofPoison?.result, { kind: 'applied', outcome: { kind: 'nothing' } })
    const other = new Machine(emptyState())
    for (const entry of log.entries) other.apply([entry], ownSession + 5)
    assert.equal(digest(other), digest(one))
    assert.equal(other.applied.index, log.last)
  })
}

void test('before level 3 a command that cannot be decoded stops a member at the entry before it', () => {
  const log = poisonedLog(2, Uint8Array.of(0xff))
  const machine = new Machine(emptyState())
  assert.throws(() => machine.apply(log.entries, ownSession), { name: 'MalformedCommandError' })
  assert.equal(machine.applied.index, 21)
})
