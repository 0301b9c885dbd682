// Goal: JSON of every kind has the members that clients of release 1.24 find in it, has no members
// that upstream omits, and is the same whether an object was sent as JSON or as protobuf. Method:
// random objects of each declaration, with zeros and nulls added, are decoded like bodies and
// compared with the table of messages. A failure prints the command that repeats it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import { encodeProtobuf } from '../../../../../src/api/codec/protobuf-envelope.ts'
import { isJsonList, isJsonObject, setMember } from '../../../../../src/api/json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../../../../../src/api/json.ts'
import { conform } from '../../../../../src/api/schema/conform.ts'
import { applyDefaults } from '../../../../../src/api/schema/default.ts'
import type { ObjectSchema, Schema } from '../../../../../src/api/schema/schema.ts'
import { zeroOf } from '../../../../../src/api/schema/zero.ts'
import { messageSubjects } from '../../../../facts/message-subjects.ts'
import type { MessageSubject } from '../../../../facts/message-subjects.ts'
import { messageOf, readMessageTable } from '../../../../facts/message-table.ts'
import type { MemberType, MessageMember } from '../../../../facts/message-table.ts'
import { randomObject } from '../../../../support/generators/random-object.ts'

const table = readMessageTable()
const only = process.env['SEED']
const seeds = only === undefined ? Array.from({ length: 10 }, (_, at) => at + 1) : [Number(only)]

for (const domain of ['orch.io', 'k8s.io'] as const) {
  for (const subject of messageSubjects(table, domain)) {
    void test(`spec 9.4: JSON of ${subject.name} of ${domain} has the members that clients expect, and no others`, () => {
      for (const seed of seeds) {
        try {
          checkRandomObject(subject, seed)
        } catch (cause) {
          const file = 'dist/test/unit/src/api/schema/written-members.test.js'
          const repeat = `SEED=${seed} node --test --test-name-pattern='${subject.name} ' ${file}`
          throw new Error(`${repeat} repeats this`, { cause })
        }
      }
    })
  }
}

function checkRandomObject({ name, schema }: MessageSubject, seed: number): void {
  const random = new SeededRandom(seed)
  const drawn = randomObject(schema, random, seed % 2 === 0 ? 'least' : 'random')
  const sent = { ...strewn(schema, drawn, random), apiVersion: 'v1', kind: 'Thing' }
  const object = read(schema, sent)
  const wrong: string[] = []
  checkMessage(object, schema, { name, path: name }, wrong)
  assert.deepEqual(wrong, [])
  assert.equal(read(schema, object), object, 'a decoded object does not change when it is decoded again')
  assert.deepEqual(read(schema, decodeProtobuf(schema, encodeProtobuf(schema, object))), object)
}

/** Conforms an object like a request body. */
function read(schema: ObjectSchema, object: JsonObject): JsonObject {
  return applyDefaults(schema, conform(schema, object).value)
}

/** Returns the object with zeros and nulls added to unset members. */
function strewn(schema: ObjectSchema, object: JsonObject, random: SeededRandom): JsonObjectDraft {
  const draft: JsonObjectDraft = {}
  for (const [name, type] of Object.entries(schema.properties)) {
    const value = object[name]
    if (value !== undefined) setMember(draft, name, strewnValue(type, value, random))
    else if (random.chance(0.5))
      setMember(draft, name, isRequired(schema, name) ? null : absence(type, random))
  }
  return draft
}

function strewnValue(type: Schema, value: Json, random: SeededRandom): Json {
  if (type.type === 'object' && isJsonObject(value)) return strewn(type, value, random)
  if (type.type === 'list' && isJsonList(value)) {
    return value.map((item) => strewnValue(type.items, item, random))
  }
  return value
}

function absence(type: Schema, random: SeededRandom): Json {
  if (random.chance(0.3)) return null
  if (type.type === 'object') return randomObject(type, random, 'least')
  const isTime = type.type === 'string' && type.format !== undefined && type.format !== 'bytes'
  if (!isTime) return zeroOf(type)
  return type.zeroMatters === true ? null : '0001-01-01T00:00:00Z'
}

function isRequired(schema: ObjectSchema, name: string): boolean {
  return schema.required?.includes(name) === true
}

type Place = { readonly name: string; readonly path: string }

function checkMessage(
  object: JsonObject,
  schema: ObjectSchema,
  { name, path }: Place,
  wrong: string[],
): void {
  const message = messageOf(table, name)
  assert.ok(message.kind === 'message')
  for (const member of message.members) {
    if (member.name !== null) {
      checkMember(object, schema, member, `${path}.${member.name}`, wrong)
      continue
    }
    assert.ok(member.type.kind === 'message')
    const part = schema.inline?.find(({ number }) => number === member.number)
    assert.ok(part !== undefined)
    checkMessage(object, part.schema, { name: member.type.name, path }, wrong)
  }
}

function checkMember(
  object: JsonObject,
  schema: ObjectSchema,
  member: MessageMember,
  path: string,
  wrong: string[],
): void {
  const name = member.name ?? ''
  const type = schema.properties[name]
  const value = object[name]
  assert.ok(type !== undefined)
  // A required member is left to validation, which rejects an object without it.
  if (value === undefined && member.always && !isRequired(schema, name)) wrong.push(`${path} is missing`)
  if (value === undefined) return
  const mayBeZero = member.always || member.optional || isRequired(schema, name) || type.default !== undefined
  if (!mayBeZero && isNothing(member.type, value)) wrong.push(`${path} is ${JSON.stringify(value)}`)
  const isList = member.type.kind === 'list' || member.type.kind === 'map'
  if (isList && value !== null && isEmpty(value)) wrong.push(`${path} is ${JSON.stringify(value)}`)
  checkInside(type, member.type, value, { path, wrong })
}

type Found = { readonly path: string; readonly wrong: string[] }

function checkInside(schema: Schema, type: MemberType, value: Json, { path, wrong }: Found): void {
  if (schema.type === 'list' && type.kind === 'list' && isJsonList(value)) {
    for (const item of value) checkInside(schema.items, type.of, item, { path: `${path}[]`, wrong })
  }
  if (schema.type !== 'object' || type.kind !== 'message' || !isJsonObject(value)) return
  checkMessage(value, schema, { name: type.name, path }, wrong)
}

function isNothing(type: MemberType, value: Json): boolean {
  if (value === null || value === '' || value === 0 || value === false || isEmpty(value)) return true
  return type.kind === 'Quantity' && value === '0'
}

function isEmpty(value: Json): boolean {
  if (isJsonList(value)) return value.length === 0
  return isJsonObject(value) && Object.keys(value).length === 0
}
