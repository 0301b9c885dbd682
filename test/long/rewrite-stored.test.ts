/*
 * Goal: an object that was accepted can be written again, for every kind that accepts one of the
 * bodies tried.
 * Method: for every kind, up to two of its lists and maps are filled up to the limit of values, one
 * per body; the first object accepted is read in JSON and protobuf, sent back unchanged, and
 * patched with nothing.
 * `unit/src/registry/writing/rewrite-stored` has the cases that a defect showed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonValues } from '../../src/api/codec/value-count.ts'
import { ApiError } from '../../src/api/errors/api-error.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { textMember } from '../../src/api/json.ts'
import { bodyLimits } from '../../src/api/limits.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { apiVersionOf } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { FullObjects } from '../support/generators/full-object.ts'
import { filledBy, placesOf } from '../support/generators/worst-bodies.ts'
import type { Place } from '../support/generators/worst-bodies.ts'
import { Fixture } from '../unit/src/registry/fixture.ts'
import { checkAgain } from '../unit/src/registry/writing/written-again.ts'

const names = namesOf('k8s.io')
const { valuesMax } = bodyLimits

/** The fullest body whose values are within the limit. */
function full(place: Place): JsonObject {
  const make = (count: number): JsonObject => filledBy(new FullObjects(names, 2), place, 'distinct', count)
  const valuesOf = (count: number): number => jsonValues(Buffer.from(JSON.stringify(make(count))))
  const each = Math.max((valuesOf(110) - valuesOf(10)) / 100, 1)
  let count = Math.floor((valuesMax - valuesOf(0)) / each)
  while (valuesOf(count) > valuesMax) count = Math.floor(count * 0.98)
  return make(count)
}

/** Bodies tried per kind: many fields accept only a few valid values. */
const TRIES = 2

void test('an object that was filled to the limit can be written again as it was read, whatever its kind', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const filled: string[] = []
  // Parts that kinds have in common, such as the template of Pods, are filled once.
  const seen = new Set<string>()
  for (const definition of definitionsFor(names)) {
    if (!definition.verbs.includes('create') || !definition.verbs.includes('get')) continue
    const kind = `${apiVersionOf(definition)}/${definition.kind}`
    const places = placesOf(new FullObjects(names, 1), definition, seen)
    const inside = places.filter(({ schema, steps }) => schema.type !== 'string' && steps[0] !== 'metadata')
    for (const place of inside.slice(0, TRIES)) {
      const made = await api.create({ kind, body: full(place) }).catch((error: unknown) => {
        assert.ok(error instanceof ApiError, String(error))
        return null
      })
      if (made === null) continue
      await checkAgain(api, place, kind, textMember(made.object.metadata, 'name'))
      filled.push(definition.kind)
      break
    }
  }
  t.diagnostic(filled.join(' '))
  assert.ok(filled.length > 5, filled.join(' '))
})
