/*
 * Goal: for any schema and any object, decoding is idempotent, a valid object reads back as it was
 * written, and the only errors are API errors.
 * Method: random schemas, random values mostly of their types, and values that are not schemas in
 * the place of some. A failure prints how to repeat it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causesOf } from '../../../../../src/api/errors/findings.ts'
import { SeededRandom } from '../../../../../base/random.ts'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { jsonText } from '../../../../../src/api/codec/json-text.ts'
import { parseJsonObject } from '../../../../../src/api/codec/json.ts'
import { publishV2 } from '../../../../../src/api/custom/publish.ts'
import { checkStructural, compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import type { CompiledSchema } from '../../../../../src/api/custom/structural-schema.ts'
import { markerNames } from '../../../../../src/api/custom/structural.ts'
import { equalJson, isJsonObject } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { member } from '../../../../../src/api/schema/path.ts'
import {
  randomGarbage,
  randomStructural,
  randomValue,
  randomValueOf,
} from '../../../../support/generators/random-structural-schema.ts'

const names = namesOf('orch.io')
const only = process.env['SEED']
const seeds = only === undefined ? Array.from({ length: 3000 }, (_, at) => at + 1) : [Number(only)]

function repeatably(seed: number, go: (random: SeededRandom) => void): void {
  try {
    go(new SeededRandom(seed))
  } catch (cause) {
    const command = `SEED=${seed} node --test dist/test/unit/src/api/custom/random-structural.test.js`
    throw new Error(`seed ${seed}; again: ${command}`, { cause })
  }
}

function objectOf(body: Json): JsonObject {
  const head = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x' } }
  return isJsonObject(body) ? { ...body, ...head } : head
}

/** Returns the object as it would be stored. @returns null: it is rejected */
function decoded(schema: CompiledSchema, object: JsonObject): JsonObject | null {
  try {
    return schema.applyDefaults(schema.conform(object).value)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

void test('conforming is idempotent, and a valid object is returned as it was written', () => {
  const seen = { taken: 0, valid: 0, invalid: 0 }
  for (const seed of seeds) {
    repeatably(seed, (random) => {
      const json = randomStructural(random)
      const isTaken =
        causesOf((found) => {
          checkStructural(json, member(null, 's'), names, { statusSubresource: false }, found)
        }).length === 0
      const schema = compileStructural(json, names)
      assert.equal(schema.schema.type, 'object')
      publishV2(schema.publish, markerNames('x-orch-'))
      for (let left = 5; left > 0; left--) {
        const object = decoded(schema, objectOf(randomValueOf(json, random)))
        if (object === null) continue
        const causes = causesOf((found) => {
          schema.validate(object, null, found)
        })
        if (!isTaken) continue
        seen.taken++
        const again = schema.conform(object)
        assert.deepEqual(again.unknown, [])
        assert.equal(schema.applyDefaults(again.value), again.value)
        assert.ok(equalJson(again.value, object), 'decoding twice is decoding once')
        if (causes.length > 0) seen.invalid++
        else {
          seen.valid++
          const read = decoded(schema, parseJsonObject(jsonText(object)))
          assert.ok(equalJson(read ?? null, object), 'what was written is read')
          const rest = causesOf((found) => {
            schema.validate(read ?? {}, null, found)
          })
          assert.deepEqual(rest, [])
        }
      }
    })
  }
  if (only === undefined) {
    assert.ok(seen.valid > 500 && seen.invalid > 500, `enough of each: ${JSON.stringify(seen)}`)
  }
})

void test('an invalid schema is rejected or ignored, and never causes an internal error', () => {
  for (const seed of seeds) {
    repeatably(seed, (random) => {
      const garbage = randomGarbage(random)
      const json = isJsonObject(garbage) ? garbage : { properties: { a: garbage } }
      const statusSubresource = random.chance(0.5)
      causesOf((found) => {
        checkStructural(json, member(null, 's'), names, { statusSubresource }, found)
      })
      const schema = compileStructural(json, names)
      assert.equal(schema.schema.type, 'object')
      publishV2(schema.publish, markerNames('x-orch-'))
      const object = decoded(schema, objectOf(randomValue(random)))
      if (object === null) return
      causesOf((found) => {
        schema.validate(object, null, found)
      })
    })
  }
})
