/**
 * Goal: a body that does not encode an object of its kind is refused in every kind that clients
 * create, and the refusal of an object with many faults is short.
 * Method: over HTTP: each field of the messages of each kind with another wire type, truncated and
 * malformed protobuf, text that is not UTF-8 or nested too deeply, and thousands of invalid labels.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../base/random.ts'
import { encodeProtobuf, protobufEnvelope } from '../../src/api/codec/protobuf-envelope.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { wholeObject } from '../../src/api/schema/shared.ts'
import { apiVersionOf } from '../../src/registry/kinds/definition.ts'
import { hasProtobuf } from '../../src/registry/representations/representation.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { malformedContents, wrongWireTypes } from '../support/generators/invalid-messages.ts'
import { FullObjects } from '../support/generators/full-object.ts'
import { collectionOf } from '../support/fixtures/kind-path.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

const names = namesOf('k8s.io')
const seed = Number(process.env['SEED'] ?? 1)
const sendable = definitionsFor(names).filter(({ observe }) => observe === undefined)
const kinds = sendable.map((definition) => ({
  definition,
  collection: collectionOf(definition),
  schema: wholeObject(definition.schema),
  type: { apiVersion: apiVersionOf(definition), kind: definition.kind },
}))
const inMessages = kinds.filter(({ definition }) => hasProtobuf(definition))
const NOT_A_MESSAGE = /^the body is not a readable protobuf message: /

void test('spec 4.7: a member with a wrong wire type is refused with its path, in every message of every kind', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const seen = new Set<string>()
  let count = 0
  for (const { collection, schema, type } of inMessages) {
    for (const { body, field, words } of wrongWireTypes(schema, type, seen)) {
      const reply = await api.ask('POST', collection, { body, type: names.protobufMediaType })
      assert.deepEqual([reply.status, reply.doc.reason], [400, 'BadRequest'], reply.text)
      const wanted = `the body is not a readable protobuf message: ${field}: ${words}`
      assert.ok(reply.doc.message?.startsWith(wanted) === true, `${wanted}, not ${reply.text}`)
      count++
    }
  }
  assert.ok(count > 300, `${count} members`)
})

void test('spec 4.7: truncated or malformed protobuf is refused, in every kind', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const maker = new FullObjects(names, seed)
  const random = new SeededRandom(seed)
  for (const { definition, collection, schema, type } of inMessages) {
    const whole = encodeProtobuf(schema, maker.object(definition, 0))
    const ask = async (body: Uint8Array) =>
      await api.ask('POST', collection, { body, type: names.protobufMediaType })
    // The bytes after the object have no meaning and may be missing.
    for (let cut = 0; cut < 12; cut++) {
      const length = random.below(whole.length - 4)
      const { status, doc } = await ask(whole.subarray(0, length))
      assert.deepEqual(
        [status, doc.reason],
        [400, 'BadRequest'],
        `${length} of ${whole.length} bytes of ${definition.kind}`,
      )
    }
    for (const [what, hex, words] of malformedContents) {
      const { status, doc } = await ask(protobufEnvelope(type, Buffer.from(hex, 'hex')))
      assert.deepEqual([status, doc.reason], [400, 'BadRequest'], what)
      assert.match(doc.message ?? '', NOT_A_MESSAGE)
      assert.ok(doc.message?.includes(words) === true, `${what}: ${doc.message ?? ''}`)
    }
    const { doc } = await ask(Buffer.from(JSON.stringify({})))
    assert.match(doc.message ?? '', /expected prefix 6b 38 73 00/)
  }
})

void test('spec 4.2: text that is not UTF-8 or nested too deeply, and thousands of invalid labels, are refused in every kind', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const labels = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`not a key ${at}`, '']))
  const depth = 5000
  for (const { definition, collection } of kinds) {
    const ask = async (body: string | Uint8Array, type: string) =>
      await api.ask('POST', collection, { body, type })
    for (const type of ['application/json', 'application/yaml']) {
      const { status, doc } = await ask(Buffer.from('{"kind":"\xff"}', 'latin1'), type)
      assert.deepEqual([status, doc.message], [400, 'the body is not valid UTF-8'], type)
    }
    const deep = `{"metadata":${'{"a":'.repeat(depth)}1${'}'.repeat(depth + 1)}`
    for (const type of ['application/json', 'application/yaml']) {
      const { status, doc } = await ask(deep, type)
      assert.deepEqual([status, doc.reason], [400, 'BadRequest'], `${definition.kind}: ${doc.message ?? ''}`)
      assert.match(doc.message ?? '', /nesting depth|too deep/)
    }
    const huge = await ask(JSON.stringify({ metadata: { name: 'a', labels } }), 'application/json')
    assert.deepEqual([huge.status, huge.doc.reason], [422, 'Invalid'], huge.text.slice(0, 500))
    assert.ok(huge.text.length < 256 * 1024, `an answer of ${huge.text.length} characters`)
  }
})
