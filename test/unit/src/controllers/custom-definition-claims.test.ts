/*
 * Goal: every name of a group belongs to one definition at most, and the owner follows from the
 * objects alone.
 * Method: the pure decision on definitions by hand, and on random ones until nothing changes any
 * more.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { textMember } from '../../../../src/api/json.ts'
import { decideNames } from '../../../../src/controllers/custom-definition-claims.ts'
import type { TakenNames } from '../../../../src/controllers/custom-definition-claims.ts'
import { isEstablished } from '../../../../src/controllers/custom-definition-summary.ts'
import type {
  DefinitionNames,
  DefinitionSummary,
} from '../../../../src/controllers/custom-definition-summary.ts'

const now = '2026-01-02T03:04:05Z'
const later = '2026-01-02T03:04:06Z'
const nothing: TakenNames = { resources: new Set(), kinds: new Set() }
const noNames: DefinitionNames = {
  ...{ plural: '', singular: '', kind: '', listKind: '' },
  ...{ shortNames: [], categories: [] },
}

function definition(plural: string, more: Partial<DefinitionSummary> = {}, names = {}): DefinitionSummary {
  const singular = plural.replace(/s$/, '')
  const requested = {
    ...{ plural, singular, kind: singular.toUpperCase(), listKind: `${singular.toUpperCase()}List` },
    ...{ shortNames: [], categories: [] },
    ...names,
  }
  return {
    ...{ name: `${plural}.x.io`, uid: plural, group: 'x.io', scope: 'Namespaced', generation: 1 },
    ...{ createdAt: now, requested, accepted: noNames, conditions: [], terminating: false },
    ...{ finalizers: [], storageVersion: 'v1', servedVersions: ['v1'], ...more },
  }
}

/** Returns the definitions after all decisions were written. */
function settled(
  definitions: readonly DefinitionSummary[],
  options: { taken?: TakenNames; vacancies?: number; now?: string } = {},
): readonly DefinitionSummary[] {
  let known = definitions
  for (let round = 0; round <= definitions.length; round++) {
    const established = known.filter((one) => isEstablished(one)).length
    const vacancies = (options.vacancies ?? 100) - established
    const decisions = decideNames(known, { taken: nothing, now, ...options, vacancies })
    if (decisions.length === 0) return known
    known = known.map((one) => {
      const made = decisions.find(({ of }) => of === one)
      return made === undefined ? one : { ...one, accepted: made.accepted, conditions: made.conditions }
    })
  }
  throw new Error('the decisions do not end')
}

function words({ conditions }: DefinitionSummary): readonly string[] {
  return conditions.map(
    (one) => `${textMember(one, 'type')} ${textMember(one, 'status')} ${textMember(one, 'reason')}`,
  )
}

function messages({ conditions }: DefinitionSummary): readonly string[] {
  return conditions.map((one) => textMember(one, 'message'))
}

const good = ['NamesAccepted True NoConflicts', 'Established True InitialNamesAccepted']
const refused = (reason: string) => [`NamesAccepted False ${reason}`, 'Established False NotAccepted']

void test('a condition lists some of the short names in use, and the number of the others', () => {
  const shortNames = Array.from({ length: 1000 }, (_, at) => `s${at}`)
  const taken = { resources: new Set(shortNames), kinds: new Set<string>() }
  const [one] = settled([definition('alfas', {}, { shortNames })], { taken })
  assert.ok(one !== undefined)
  const [reported = ''] = messages(one)
  assert.match(reported, /^\["s0" is already in use, .*"s9" is already in use, 990 others\]$/)
})

void test('a definition without conflicts has its names and is established', () => {
  const names = { shortNames: ['a', 'al'], categories: ['all'] }
  const [one] = settled([definition('alfas', {}, names)])
  assert.ok(one !== undefined)
  assert.deepEqual(words(one), good)
  assert.deepEqual(messages(one), ['no conflicts found', 'the initial names have been accepted'])
  assert.deepEqual(one.accepted, one.requested)
  for (const condition of one.conditions) assert.equal(condition['lastTransitionTime'], now)
})

void test('each name that another definition has is rejected, the others are accepted', () => {
  const first = definition('alfas', {}, { shortNames: ['a', 'b'] })
  const had = [
    ['PluralConflict', 'kilos', 'alfas'],
    ['SingularConflict', 'bravos', 'alfa', { singular: 'alfa' }],
    ['ShortNamesConflict', 'bravos', 'a', { shortNames: ['a', 'z'] }],
    ['KindConflict', 'bravos', 'ALFA', { kind: 'ALFA' }],
    ['ListKindConflict', 'bravos', 'ALFAList', { listKind: 'ALFAList' }],
  ] as const
  for (const [reason, plural, name, names] of had) {
    const requests = reason === 'PluralConflict' ? { plural: 'alfas' } : names
    const [, second] = settled([first, definition(plural, { createdAt: later }, requests)])
    assert.ok(second !== undefined)
    assert.deepEqual(words(second), refused(reason))
    assert.deepEqual(messages(second), [`"${name}" is already in use`, 'not all names are accepted'])
    const accepted = { ...second.requested, ...rest(reason) }
    assert.deepEqual(second.accepted, accepted)
  }
  const [, both] = settled([
    first,
    definition('bravos', { createdAt: later }, { shortNames: ['b', 'c', 'a'] }),
  ])
  assert.equal(both?.conditions[0]?.['message'], '["b" is already in use, "a" is already in use]')
  assert.deepEqual(both.accepted.shortNames, [])
})

function rest(reason: string): Partial<DefinitionNames> {
  const name = reason.replace('Conflict', '')
  if (name === 'ShortNames') return { shortNames: [] }
  return { [`${name[0]?.toLowerCase() ?? ''}${name.slice(1)}`]: '' }
}

void test('names of resources and of kinds are separate, and those of built-in kinds are taken', () => {
  const second = definition('bravos', {}, { kind: 'alfas', listKind: 'alfa' })
  assert.deepEqual(settled([definition('alfas'), second]).map(words), [good, good])
  const taken = { resources: new Set(['alfas']), kinds: new Set(['BRAVO']) }
  assert.deepEqual(settled([definition('alfas'), definition('bravos')], { taken }).map(words), [
    refused('PluralConflict'),
    refused('KindConflict'),
  ])
})

void test('an owner keeps its name; a free name goes to the oldest definition, then to the first by name', () => {
  const shares = { shortNames: ['s'] }
  const [has] = settled([definition('zulus', { createdAt: later }, shares)])
  assert.ok(has !== undefined)
  const waiting = [
    definition('mikes', { createdAt: later }, shares),
    definition('bravos', { createdAt: later }, shares),
    definition('novembers', { createdAt: now }, shares),
  ]
  const established = (of: readonly DefinitionSummary[]) =>
    of.filter((one) => words(one)[0] === good[0]).map(({ name }) => name)
  const all = settled([...waiting, has])
  assert.deepEqual(established(all), ['zulus.x.io'])
  const without = settled(all.filter(({ name }) => name !== 'zulus.x.io'))
  assert.deepEqual(established(without), ['novembers.x.io'])
  const last = settled(without.filter(({ name }) => name !== 'novembers.x.io'))
  assert.deepEqual(established(last), ['bravos.x.io'])
})

void test('a name that two definitions have stays in use when one of them gives it up', () => {
  const has = { ...noNames, singular: 'shared' }
  const gives = definition('alfas', { accepted: has })
  const wants = definition('bravos', {}, { singular: 'shared' })
  const keeps = definition('charlies', { createdAt: later, accepted: has }, { singular: 'shared' })
  const decisions = decideNames([gives, wants, keeps], { taken: nothing, now, vacancies: 9 })
  const singulars = decisions.map(({ accepted }) => accepted.singular)
  assert.deepEqual(singulars, ['alfa', '', 'shared'])
})

void test('an established definition stays established when it requests a name that is taken', () => {
  const [first, second] = settled([definition('alfas'), definition('bravos', {}, { shortNames: ['b'] })])
  assert.ok(first !== undefined && second !== undefined)
  const asks = { ...second, requested: { ...second.requested, shortNames: ['alfa'] } }
  const [, requests] = settled([first, asks], { now: later })
  assert.ok(requests !== undefined)
  assert.deepEqual(words(requests), ['NamesAccepted False ShortNamesConflict', good[1]])
  assert.deepEqual(requests.accepted.shortNames, ['b'])
  assert.deepEqual(
    requests.conditions.map((one) => one['lastTransitionTime']),
    [later, now],
  )
})

void test('definitions beyond the limit wait, with the reason in their status', () => {
  const made = settled([definition('alfas'), definition('bravos', { createdAt: later })], { vacancies: 1 })
  assert.deepEqual(made.map(words), [good, [good[0], 'Established False TooManyDefinitions']])
  const [, second] = made
  assert.ok(second !== undefined)
  assert.deepEqual(words(settled([second], { vacancies: 1 })[0] ?? second), good)
})

void test('random groups: no name has two owners, the order of the objects does not matter, and decisions end', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new SeededRandom(seed)
    const letter = () => 'abcdef'[random.below(6)] ?? ''
    const many = 1 + random.below(7)
    const start = Array.from({ length: many }, (_, at) =>
      definition(
        `p${at}`,
        { createdAt: random.chance(0.5) ? now : later },
        {
          ...{ singular: letter(), kind: letter().toUpperCase(), listKind: `${letter()}List` },
          shortNames: Array.from({ length: random.below(3) }, letter),
        },
      ),
    )
    const half = settled(start.slice(0, random.below(many + 1)))
    const known = [...half, ...start.slice(half.length)]
    const result = settled(known)
    const shuffled = [...known].sort(() => (random.chance(0.5) ? 1 : -1))
    const again = settled(shuffled)
    for (const one of result) {
      const other = again.find(({ name }) => name === one.name)
      assert.deepEqual(other, one, `seed ${seed}: order counts`)
    }
    for (const names of [resources, kinds]) {
      const had = result.flatMap((one) => [...new Set(names(one.accepted))])
      assert.equal(new Set(had).size, had.length, `seed ${seed}: ${had.join(' ')} are used twice`)
    }
    for (const one of half) {
      if (words(one)[1] !== good[1]) continue
      const kept = result.find(({ name }) => name === one.name)
      assert.deepEqual(kept, one, `seed ${seed}: kept`)
    }
  }
})

function resources({ plural, singular, shortNames }: DefinitionNames): readonly string[] {
  return [plural, singular, ...shortNames].filter((name) => name !== '')
}

function kinds({ kind, listKind }: DefinitionNames): readonly string[] {
  return [kind, listKind].filter((name) => name !== '')
}
