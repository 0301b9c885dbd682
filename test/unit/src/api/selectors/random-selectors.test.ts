/*
 * Goal: any selector selects according to its requirements, however it is spelled.
 * Method: random requirements, written with random blanks and spellings, against an evaluation of
 * the requirements without the parser. SEED repeats one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { COMMON_FIELDS, parseFieldSelector } from '../../../../../src/api/selectors/field-selector.ts'
import { parseLabelSelector } from '../../../../../src/api/selectors/label-selector.ts'

const only = process.env['SEED']
const seeds = only === undefined ? Array.from({ length: 3000 }, (_, at) => at + 1) : [Number(only)]
const repeat = (seed: number): string =>
  `repeat: SEED=${seed} node --test dist/test/unit/src/api/selectors/random-selectors.test.js`

type Words =
  'is' | 'is not' | 'is one of' | 'is not one of' | 'is there' | 'is not there' | 'is above' | 'is below'
type Requirement = { readonly key: string; readonly words: Words; readonly values: readonly string[] }
type Labels = { readonly [key: string]: string }

/** Keywords of the grammar are valid names too. */
const keys = ['a', 'b', 'in', 'notin', 'x.io/part-of', 'A_1', 'exists', 'toString']
const plain = ['', 'a', 'b', 'in', 'notin', '0', 'x-y_z.9', 'a'.repeat(63)]
const numbers = ['0', '7', '08', '10', '9223372036854775807', '9223372036854775808']
const words: readonly Words[] = [
  ...([
    'is',
    'is not',
    'is one of',
    'is not one of',
    'is there',
    'is not there',
    'is above',
    'is below',
  ] as const),
]

function requirementOf(random: SeededRandom): Requirement {
  const [key, how] = [random.pick(keys), random.pick(words)]
  switch (how) {
    case 'is':
    case 'is not':
      return { key, words: how, values: [random.pick([...plain, ...numbers])] }
    case 'is one of':
    case 'is not one of':
      return { key, words: how, values: some(random, [...plain, ...numbers], 1 + random.below(5)) }
    case 'is there':
    case 'is not there':
      return { key, words: how, values: [] }
    case 'is above':
    case 'is below':
      return { key, words: how, values: [random.pick(numbers.slice(0, 5))] }
  }
}

function some<T>(random: SeededRandom, all: readonly T[], count: number): readonly T[] {
  return Array.from({ length: count }, () => random.pick(all))
}

function spelled({ key, words: how, values }: Requirement, random: SeededRandom): string {
  const gap = (): string => random.pick(['', '', ' ', '\t', ' \n '])
  const [space, first] = [random.pick([' ', '  ', '\t']), values[0] ?? '']
  const list = (): string => `(${values.map((value) => gap() + value + gap()).join(',')})`
  switch (how) {
    case 'is':
      return `${gap()}${key}${gap()}${random.pick(['=', '=='])}${gap()}${first}${gap()}`
    case 'is not':
      return `${gap()}${key}${gap()}!=${gap()}${first}${gap()}`
    case 'is one of':
      return `${gap()}${key}${space}in${gap()}${list()}${gap()}`
    case 'is not one of':
      return `${gap()}${key}${space}notin${gap()}${list()}${gap()}`
    case 'is there':
      return `${gap()}${key}${gap()}`
    case 'is not there':
      return `${gap()}!${gap()}${key}${gap()}`
    case 'is above':
      return `${gap()}${key}${gap()}>${gap()}${first}${gap()}`
    case 'is below':
      return `${gap()}${key}${gap()}<${gap()}${first}${gap()}`
  }
}

/** Evaluates a requirement for an object with these labels. */
function holds({ key, words: how, values }: Requirement, labels: Labels): boolean {
  const has = Object.keys(labels).includes(key)
  const equal = has && values.some((value) => value === labels[key])
  if (how === 'is' || how === 'is one of') return equal
  if (how === 'is not' || how === 'is not one of') return !equal
  if (how === 'is there') return has
  if (how === 'is not there') return !has
  const [value, bound] = [has ? wholeNumber(labels[key] ?? '') : null, wholeNumber(values[0] ?? '')]
  if (value === null || bound === null) return false
  return how === 'is above' ? value > bound : value < bound
}

/** Parses a non-negative integer below 2^63; null: it is not one. */
function wholeNumber(text: string): bigint | null {
  if (text === '' || [...text].some((char) => char < '0' || char > '9')) return null
  const value = BigInt(text)
  return value < 2n ** 63n ? value : null
}

function labelsOf(random: SeededRandom): Labels {
  const labels: Record<string, string> = {}
  for (const key of some(random, keys, random.below(6))) labels[key] = random.pick([...plain, ...numbers])
  return labels
}

void test('spec 4.2: each label selector selects according to its requirements', () => {
  let [matched, missed] = [0, 0]
  for (const seed of seeds) {
    const random = new SeededRandom(seed)
    const requirements = Array.from({ length: 1 + random.below(4) }, () => requirementOf(random))
    const text = requirements.map((one) => spelled(one, random)).join(',')
    const selector = parseLabelSelector(text)
    assert.equal(
      selector.requirements.length,
      requirements.length,
      `${JSON.stringify(text)}; ${repeat(seed)}`,
    )
    for (let round = 0; round < 12; round++) {
      const labels = labelsOf(random)
      const wanted = requirements.every((one) => holds(one, labels))
      const given = `${JSON.stringify(text)} of ${JSON.stringify(labels)}; ${repeat(seed)}`
      assert.equal(selector.matches(labels), wanted, given)
      if (wanted) matched++
      else missed++
    }
    const bare = requirements.every((one) => holds(one, {}))
    assert.equal(selector.matches(null), bare, `${JSON.stringify(text)} of none; ${repeat(seed)}`)
  }
  assert.ok(only !== undefined || (matched > 2000 && missed > 2000), `${matched} matched, ${missed} did not`)
})

void test('spec 4.2: each fieldSelector selects according to its requirements', () => {
  const values = ['', 'a', 'a,b', 'a=b', 'a\\', '\\,=', 'default', ' a ', 'metadata.name=a']
  let [matched, missed] = [0, 0]
  for (const seed of seeds) {
    const random = new SeededRandom(seed)
    const requirements = Array.from({ length: 1 + random.below(3) }, () => ({
      field: random.pick(COMMON_FIELDS),
      equal: random.chance(0.6),
      value: random.pick(values),
    }))
    const text = requirements
      .map(({ field, equal, value }) => {
        const sign = equal ? random.pick(['=', '==']) : '!='
        return field + sign + value.replaceAll(/[\\,=]/g, (char) => `\\${char}`)
      })
      .join(random.pick([',', ',,']))
    const selector = parseFieldSelector(text)
    const object: Readonly<Record<string, string>> = {
      'metadata.name': random.pick(values),
      'metadata.namespace': random.pick(values),
    }
    const wanted = requirements.every(({ field, equal, value }) => (object[field] === value) === equal)
    const given = `${text} of ${JSON.stringify(object)}; ${repeat(seed)}`
    assert.equal(
      selector.matches((field) => object[field] ?? ''),
      wanted,
      given,
    )
    for (const field of COMMON_FIELDS) {
      const exact = selector.exact(field)
      const named = requirements.filter((one) => one.equal && one.field === field)
      assert.equal(exact !== null, named.length > 0, given)
      assert.ok(exact === null || named.some(({ value }) => value === exact), given)
    }
    if (wanted) matched++
    else missed++
  }
  assert.ok(only !== undefined || (matched > 100 && missed > 100), `${matched} matched, ${missed} did not`)
})
