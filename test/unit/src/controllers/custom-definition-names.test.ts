/*
 * Goal: no two definitions have one name, and the established ones stay within the limit, whatever
 * members act as leader and however late their writes arrive.
 * Method: several controllers over one store, which delays writes or reports that their outcome is
 * unknown; SEED=n repeats a random run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SeededRandom } from '../../../../base/random.ts'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import {
  definitionKey,
  definitionsPrefix,
  isEstablished,
  knownDefinition,
} from '../../../../src/controllers/custom-definition-summary.ts'
import type { KnownDefinition } from '../../../../src/controllers/custom-definition-summary.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { establishedMax, Gate, instead, kind, Member, name, names } from './definition-member.ts'

const rival = 'gadgets.example.com'
const asksForTheSame = { kind: 'Gadget', names: { singular: 'widget' } }

function definitionsOf(member: Member): readonly KnownDefinition[] {
  const { objects } = member.api.store.view().list(definitionsPrefix(names), { after: null, limit: null })
  return objects.map(knownDefinition)
}

function checkNames(member: Member, of: string): void {
  const all = definitionsOf(member)
  const had = all.flatMap(({ accepted }) => [
    ...new Set([accepted.plural, accepted.singular, ...accepted.shortNames].filter((one) => one !== '')),
  ])
  assert.equal(new Set(had).size, had.length, `${of}: ${had.join(' ')} are used twice`)
  const established = all.filter((one) => isEstablished(one)).length
  assert.ok(established <= establishedMax, `${of}: ${established} are established`)
}

void test('a decision of an earlier leader is not written after one of a later leader', async (t) => {
  const gate = new Gate()
  const member = await Member.open((store) => gate.before(store))
  t.after(() => member.close())
  await member.define()
  gate.close((key) => key === definitionKey(names, name))
  member.lead()
  await gate.held
  member.follow()
  // The rival is created in the same second, and its name sorts first.
  await member.define(asksForTheSame)
  member.lead()
  await member.until('NamesAccepted', 'True NoConflicts', rival)
  gate.open()
  await member.until('NamesAccepted', 'False SingularConflict')
  checkNames(member, 'two leaders')
  assert.equal(await member.condition('Established', rival), 'True InitialNamesAccepted')
})

void test('a name is not given to another definition before its owner has released it', async (t) => {
  const gate = new Gate()
  const member = await Member.open((store) => gate.before(store))
  t.after(() => member.close())
  member.lead()
  await member.define()
  await member.until('Established', 'True InitialNamesAccepted')
  // The rival is created later, so that it is examined after the owner of the name.
  member.api.clock.advance(2000)
  await member.define(asksForTheSame)
  await member.until('NamesAccepted', 'False SingularConflict', rival)
  const ask = (singular: string) => member.api.patch({ kind, name, body: { spec: { names: { singular } } } })
  await ask('other')
  gate.close((key) => key === definitionKey(names, name), 'once')
  await gate.held
  await ask('widget')
  gate.open()
  for (let at = 0; at < 50; at++) {
    await member.next()
    checkNames(member, 'asked for again')
  }
  assert.equal(await member.condition('NamesAccepted'), 'True NoConflicts')
  assert.equal(await member.condition('NamesAccepted', rival), 'False SingularConflict')
})

void test('a write with an unknown outcome is not applied after the next decision', async (t) => {
  let lost: (() => Promise<unknown>) | null = null
  /** The number of writes about the rival: its creation, and the acceptance of its name. */
  let written = 0
  let decides = false
  const lose = (store: ObjectStore): ObjectStore => {
    const write: ObjectStore['write'] = async (command, deadlineMs) => {
      const isOf = (of: string): boolean =>
        command.kind === 'write' && command.operations.some(({ key }) => key === definitionKey(names, of))
      if (decides && isOf(name) && lost === null) {
        lost = () => store.write(command, deadlineMs)
        throw new StoreError('timed-out', 'no quorum', { applied: 'unknown' })
      }
      const outcome = await store.write(command, deadlineMs)
      if (isOf(rival) && ++written === 2) await lost?.()
      return outcome
    }
    return instead(store, { write })
  }
  const member = await Member.open(lose)
  t.after(() => member.close())
  await member.define()
  decides = true
  member.lead()
  for (let at = 0; at < 100 && lost === null; at++) await turn()
  assert.equal(member.errors.length, 1)
  await member.define(asksForTheSame)
  await member.until('NamesAccepted', 'True NoConflicts', rival)
  await member.until('NamesAccepted', 'False SingularConflict')
  checkNames(member, 'a lost write')
})

void test('without a decision nothing is written', async (t) => {
  const member = await Member.open()
  t.after(() => member.close())
  member.lead()
  await member.define()
  await member.until('Established', 'True InitialNamesAccepted')
  member.follow()
  const { revision } = member.api.store.view()
  member.lead()
  for (let at = 0; at < 20; at++) await member.next()
  assert.equal(member.api.store.view().revision, revision)
})

const onlySeed = Number(process.env['SEED'] ?? 0)
const seeds = onlySeed > 0 ? [onlySeed] : Array.from({ length: 12 }, (_, at) => at + 1)

void test('random leaders, also concurrent ones: each name has one owner', async () => {
  for (const seed of seeds) await live(seed)
})

/** Definitions are created, deleted and renamed under leaders whose writes are late. */
async function live(seed: number): Promise<void> {
  const random = new SeededRandom(seed)
  let slow = true
  const delay = (store: ObjectStore): ObjectStore => {
    const write: ObjectStore['write'] = async (command, deadlineMs) => {
      const turnsMax = slow ? (random.below(3) === 0 ? 60 : 6) : 1
      for (let turns = random.below(turnsMax); turns > 0; turns--) await turn()
      return store.write(command, deadlineMs)
    }
    return instead(store, { write })
  }
  const member = await Member.open(delay)
  const letter = () => 'abcdef'[random.below(6)] ?? ''
  const requested = () => ({
    singular: letter(),
    shortNames: Array.from({ length: random.below(3) }, letter),
  })
  const one = () => ['Alfa', 'Bravo', 'Charlie', 'Delta', 'Echo'][random.below(5)] ?? ''
  const nameOf = (of: string) => `${of.toLowerCase()}s.example.com`
  const leaders: (() => void)[] = []
  const actions = [
    () => void tried(member.define({ kind: one(), names: requested() })),
    () => void tried(member.api.patch({ kind, name: nameOf(one()), body: { spec: { names: requested() } } })),
    () => void tried(member.api.delete({ kind, name: nameOf(one()) })),
    () => void leaders.push(member.leader()),
    () => leaders.splice(random.below(leaders.length + 1), 1)[0]?.(),
  ]
  for (let step = 0; step < 60; step++) {
    actions[random.below(actions.length)]?.()
    for (let turns = random.below(12); turns > 0; turns--) await turn()
    member.api.clock.advance(20)
    checkNames(member, `SEED=${seed}, step ${step}`)
  }
  slow = false
  for (const stop of leaders) stop()
  member.lead()
  for (let turns = 0; turns < 100; turns++) await member.next()
  checkNames(member, `SEED=${seed}, at the end`)
  for (const definition of definitionsOf(member)) {
    const { conditions } = definition
    assert.ok(conditions.length >= 2, `SEED=${seed}: nothing was decided about ${definition.name}`)
  }
  await member.close()
}

/** The object may be missing, exist already, or change in the meantime. */
async function tried(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
  }
}
