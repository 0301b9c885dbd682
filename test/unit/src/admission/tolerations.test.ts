/*
 * Goal: merging tolerations keeps exactly those that no other one includes, in linear time.
 * Method: random lists against a naive comparison of all pairs; a list of tens of thousands.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { mergedTolerations } from '../../../../src/admission/tolerations.ts'
import { numberMember, textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'

const SEED = Number(process.env['SEED'] ?? 1)

function anyToleration(random: SeededRandom): JsonObject {
  const pick = <T>(...of: readonly T[]): T | undefined => of[random.below(of.length)]
  const operator = pick('Exists', 'Equal')
  const effect = pick('', 'NoSchedule', 'NoExecute')
  const seconds = pick(undefined, 0, 5, 9)
  return {
    ...(operator === 'Equal' || random.below(3) > 0 ? { key: pick('a', 'b') ?? '' } : {}),
    operator: operator ?? '',
    ...(operator === 'Equal' ? { value: pick('', 'x') ?? '' } : {}),
    ...(effect === '' ? {} : { effect: effect ?? '' }),
    ...(effect === 'NoExecute' && seconds !== undefined ? { tolerationSeconds: seconds } : {}),
  }
}

function isIncluded(narrow: JsonObject, wide: JsonObject): boolean {
  const [key, effect] = [textMember(wide, 'key'), textMember(wide, 'effect')]
  if (key !== textMember(narrow, 'key') && key !== '') return false
  if (effect !== '' && effect !== textMember(narrow, 'effect')) return false
  const secondsOf = (one: JsonObject): number => numberMember(one, 'tolerationSeconds') ?? Infinity
  if (effect === 'NoExecute' && secondsOf(narrow) > secondsOf(wide)) return false
  if (textMember(wide, 'operator') === 'Exists') return true
  return ['operator', 'value'].every((name) => textMember(narrow, name) === textMember(wide, name))
}

void test('merged tolerations are those that no other one includes, each once and in order', () => {
  const random = new SeededRandom(SEED)
  for (let round = 0; round < 2000; round++) {
    const [first, second] = [0, 1].map(() =>
      Array.from({ length: random.below(5) }, () => anyToleration(random)),
    )
    const all = [
      ...new Map([...(first ?? []), ...(second ?? [])].map((one) => [JSON.stringify(one), one])).values(),
    ]
    const expected = all.filter((one) => !all.some((other) => other !== one && isIncluded(one, other)))
    assert.deepEqual(
      mergedTolerations(first ?? [], second ?? []),
      expected,
      `SEED=${SEED} round ${round}: ${JSON.stringify([first, second])}`,
    )
  }
})

void test('tens of thousands of tolerations are merged without comparing all pairs', () => {
  let reads = 0
  const many = Array.from({ length: 40_000 }, (_, at) => ({
    get key() {
      reads++
      return `k${at}`
    },
    operator: 'Exists',
  }))
  const wide = { key: 'k7', operator: 'Exists' }
  assert.equal(mergedTolerations(many, [wide]).length, many.length)
  assert.deepEqual(mergedTolerations(many, [{ operator: 'Exists' }]), [{ operator: 'Exists' }])
  assert.ok(reads <= 20 * many.length, `${reads} reads of keys`)
})
