// Goal: no member of any kind is lost or changed on its way through protobuf, neither for us nor
// for a client of upstream's. Method: random objects of each declaration (full, all zero, with as
// few members as possible, and mixed) are encoded by us and decoded both by us and by a decoder
// that knows only the table of messages. A failure prints how to repeat it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { encodeProtobuf } from '../../../../../src/api/codec/protobuf-envelope.ts'
import { encodeProtobufMessage } from '../../../../../src/api/codec/protobuf-encode.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import type { JsonObject, JsonObjectDraft } from '../../../../../src/api/json.ts'
import { messageSubjects } from '../../../../facts/message-subjects.ts'
import type { MessageSubject } from '../../../../facts/message-subjects.ts'
import { readMessageTable } from '../../../../facts/message-table.ts'
import { decodeByTable, withoutZeros } from '../../../../facts/table-decoder.ts'
import { randomObject } from '../../../../support/generators/random-object.ts'
import type { Fill } from '../../../../support/generators/random-object.ts'

const table = readMessageTable()
const only = process.env['SEED']
const rounds: readonly (readonly [Fill, readonly number[]])[] = [
  ['full', [1, 2]],
  ['zero', [1]],
  ['least', [1]],
  ['random', only === undefined ? Array.from({ length: 12 }, (_, at) => at + 1) : [Number(only)]],
]

for (const domain of ['orch.io', 'k8s.io'] as const) {
  for (const subject of messageSubjects(table, domain)) {
    void test(`${subject.name} of ${domain} round-trips through protobuf`, () => {
      for (const [fill, seeds] of rounds) {
        for (const seed of seeds) repeatable(subject.name, seed, () => goThrough(subject, fill, seed))
      }
    })
  }
}

function repeatable(name: string, seed: number, run: () => void): void {
  try {
    run()
  } catch (cause) {
    const file = 'dist/test/unit/src/api/codec/protobuf-kinds.test.js'
    const repeat = `SEED=${seed} node --test --test-name-pattern='${name} ' ${file}`
    throw new Error(`${repeat} repeats this`, { cause })
  }
}

function goThrough({ name, schema }: MessageSubject, fill: Fill, seed: number): void {
  const object = randomObject(schema, new SeededRandom(seed), fill)
  const whole = { ...object, apiVersion: 'v1', kind: 'Thing' }
  assert.deepEqual(decodeProtobuf(schema, encodeProtobuf(schema, whole)), whole, `${fill}: what we read`)

  const theirs = decodeByTable(table, name, encodeProtobufMessage(schema, object))
  const expected = withoutType(object)
  assert.deepEqual(
    withoutZeros(table, name, theirs),
    fill === 'full' ? expected : withoutZeros(table, name, expected),
    `${fill}: what another decoder reads`,
  )
}

/** The envelope contains these members. */
function withoutType(object: JsonObject): JsonObject {
  const draft: JsonObjectDraft = { ...object }
  delete draft['apiVersion']
  delete draft['kind']
  return draft
}
