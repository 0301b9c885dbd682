/*
 * Goal: what it costs to check an object grows no faster than the object, for lists and maps of
 * each kind, and no error is larger than 64 KiB.
 * Method: each list and map is filled with different, equal and wrong elements, at two sizes, in
 * bodies that create, in JSON and protobuf, and in strategic patches. Steps are counted, not timed,
 * so that the result does not depend on the machine; `test/long/worst-cases.test.ts` fills the
 * largest body there is.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { decodeProtobuf } from '../../../../src/api/codec/protobuf.ts'
import { encodeProtobuf } from '../../../../src/api/codec/protobuf-envelope.ts'
import { isJsonList, isJsonObject, memberOf } from '../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { strategicMerge } from '../../../../src/api/patch/strategic-merge.ts'
import { wholeObject } from '../../../../src/api/schema/shared.ts'
import { statusOf } from '../../../../src/api/errors/status.ts'
import { apiVersionOf } from '../../../../src/registry/kinds/definition.ts'
import { hasProtobuf } from '../../../../src/registry/representations/representation.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { rounds } from '../../../support/fixtures/variants.ts'
import { FullObjects } from '../../../support/generators/full-object.ts'
import { countSteps } from '../../../support/tools/step-count.ts'
import { fillings, filledBy, placesOf } from '../../../support/generators/worst-bodies.ts'
import type { Filling, Place } from '../../../support/generators/worst-bodies.ts'
import { Fixture } from '../registry/fixture.ts'
import type { Call } from '../registry/fixture.ts'

const names = namesOf('k8s.io')
/** Elements: enough that the limit on findings makes no difference, and twice as many. */
const [SMALL, LARGE] = [220, 440]
const ERROR_BYTES_MAX = 64 * 1024

/**
 * Twice as many elements take twice the steps beyond those for the rest of the object; quadratic
 * cost would be four times as many.
 */
const GROWTH_MAX = 2.4
/** So few steps for each element do not matter; comparing each with all others takes hundreds. */
const STEPS_EACH = 20

/** @returns the size of the error in bytes; 0: the call succeeded */
async function answered(call: Promise<unknown>): Promise<number> {
  try {
    await call
    return 0
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.notEqual(error.code, 'InternalError', error.message)
    return Buffer.byteLength(JSON.stringify(statusOf(error), null, 2))
  }
}

/** @returns a text, if the steps grow faster than the number of elements; null: they do not */
async function checkGrowth(
  place: Place,
  what: string,
  make: (count: number) => () => Promise<unknown>,
): Promise<string | null> {
  const stepsOf = async (count: number): Promise<number> => {
    const run = make(count)
    let bytes = 0
    const steps = await countSteps(async () => {
      bytes = await answered(run())
    })
    assert.ok(bytes <= ERROR_BYTES_MAX, `${place.key}, ${what}: an error of ${bytes} bytes`)
    return steps
  }
  // The first run is not measured: it includes one-time initialization.
  await answered(make(1)())
  const alone = await stepsOf(1)
  const [small, large] = [await stepsOf(SMALL), await stepsOf(LARGE)]
  // Where the first wrong elements end the check, the rest of the object is not checked either.
  const rest = Math.min(alone, small)
  const isLinear = large - rest <= (small - rest) * GROWTH_MAX + LARGE * STEPS_EACH
  const reported = `1, ${SMALL}, ${LARGE} elements: ${alone}, ${small}, ${large}`
  return isLinear ? null : `${place.key}, ${what}: steps of ${reported}`
}

function callOf({ definition }: Place, body: JsonObject): Call {
  return { kind: `${apiVersionOf(definition)}/${definition.kind}`, body, query: { dryRun: 'All' } }
}

/** Every fourth list and map is filled; in `long/variants` all are. */
const everyNth = rounds(4, 1)

/** Lists and maps of the kinds that can be created, filled in each way. */
function* filledPlaces(): Generator<readonly [Place, Filling, (count: number) => JsonObject]> {
  const maker = new FullObjects(names, 1)
  const seen = new Set<string>()
  let counted = 0
  for (const definition of definitionsFor(names)) {
    if (!definition.verbs.includes('create')) continue
    for (const place of placesOf(maker, definition, seen)) {
      if (place.schema.type === 'string' || counted++ % everyNth !== 0) continue
      for (const filling of fillings) {
        yield [place, filling, (count) => filledBy(new FullObjects(names, 2), place, filling, count)]
      }
    }
  }
}

void test('the cost of checking an object is linear in its size, for lists and maps of every kind', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const wrong: (string | null)[] = []
  for (const [place, filling, make] of filledPlaces()) {
    wrong.push(
      await checkGrowth(place, filling, (count) => {
        const request = api.request(callOf(place, make(count)))
        return () => api.registry.create(request)
      }),
    )
  }
  assert.deepEqual(
    wrong.filter((words) => words !== null),
    [],
  )
  assert.ok(wrong.length > 400 / everyNth, `${wrong.length} lists and maps`)
})

void test('the cost of decoding an object from protobuf is linear in its size', async () => {
  const wrong: (string | null)[] = []
  for (const [place, filling, make] of filledPlaces()) {
    if (filling !== 'distinct' || !hasProtobuf(place.definition)) continue
    const schema = wholeObject(place.definition.schema)
    wrong.push(
      await checkGrowth(place, `${filling}, protobuf`, (count) => {
        const message = encodeProtobuf(schema, make(count))
        return async () => Promise.resolve(decodeProtobuf(schema, message))
      }),
    )
  }
  assert.deepEqual(
    wrong.filter((words) => words !== null),
    [],
  )
  assert.ok(wrong.length > 120 / everyNth, `${wrong.length} lists and maps`)
})

void test('the cost of a strategic patch is linear: an identical one, one that deletes each element, one that orders them', async () => {
  const wrong: (string | null)[] = []
  for (const [place, filling, make] of filledPlaces()) {
    if (place.schema.type !== 'list' || place.schema.patchStrategy === undefined || filling !== 'distinct')
      continue
    const schema = wholeObject(place.definition.schema)
    const { patchMergeKey = '' } = place.schema
    const name = String(place.steps.at(-1))
    for (const how of ['same', 'delete', 'order'] as const) {
      wrong.push(
        await checkGrowth(place, `strategic patch, ${how}`, (count) => {
          const object = make(count)
          const patch = patchOf(object, place.steps, (list) => {
            if (how === 'same') return { [name]: list }
            if (how === 'order') return { [name]: list, [`$setElementOrder/${name}`]: list.toReversed() }
            return { [name]: list.map((item) => deleted(item, patchMergeKey)) }
          })
          return async () => Promise.resolve(strategicMerge(schema, object, patch))
        }),
      )
    }
  }
  assert.deepEqual(
    wrong.filter((words) => words !== null),
    [],
  )
  assert.ok(wrong.length > 50 / everyNth, `${wrong.length} patches`)
})

function deleted(item: Json, key: string): Json {
  return isJsonObject(item) ? { $patch: 'delete', [key]: memberOf(item, key) ?? null } : item
}

/** Returns a patch of the list at this path. */
function patchOf(
  object: JsonObject,
  [step, ...rest]: Place['steps'],
  make: (list: readonly Json[]) => JsonObject,
): JsonObject {
  const value = memberOf(object, String(step)) ?? null
  if (rest.length === 0) return make(isJsonList(value) ? value : [])
  if (isJsonObject(value)) return { [String(step)]: patchOf(value, rest, make) }
  // Elements of lists on the path are kept: those with a merge key are merged, others are replaced.
  return { [String(step)]: value }
}
