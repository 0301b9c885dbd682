/*
 * Goal: values of a body are kept to the last digit and character in every encoding.
 * Method: requests over HTTP on the shipped verbs and machine, compared as texts: the parsers of
 * tests would round.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeDocument } from '../../src/api/codec/document.ts'
import { jsonText } from '../../src/api/codec/json-text.ts'
import { parseJsonObject } from '../../src/api/codec/json.ts'
import { decodeProtobuf } from '../../src/api/codec/protobuf.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { wholeObject } from '../../src/api/schema/shared.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

const NODES = '/api/v1/nodes'
const names = namesOf('orch.io')
const definition =
  definitionsFor(names).find(({ kind }) => kind === 'Node') ?? assert.fail('nodes are served')
const schema = wholeObject(definition.schema)
const protobuf = names.protobufMediaType
const SIZE = '9223372036854775807'

function nodeText(name: string, size: string): string {
  const status = `{"images":[{"names":["a"],"sizeBytes":${size}}]}`
  return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"${name}"},"status":${status}}`
}

void test('spec 2.5: an int64 is kept exactly by create and get in every encoding, in lists and tables, and by patches', async (t) => {
  const api = await SpecServer.start(t)
  const bodies = {
    'application/json': nodeText('json', SIZE),
    'application/yaml': `apiVersion: v1\nkind: Node\nmetadata:\n  name: yaml\nstatus:\n  images:\n  - names: [a]\n    sizeBytes: ${SIZE}\n`,
    [protobuf]: encodeDocument('protobuf', schema, parseJsonObject(nodeText('protobuf', SIZE))),
  }
  const given = new RegExp(`"?sizeBytes"?: ?${SIZE}\\b`, 'g')
  const count = (text: string): number => text.match(given)?.length ?? 0
  for (const [type, body] of Object.entries(bodies)) {
    const created = await api.ask('POST', NODES, { type, body })
    assert.equal(created.status, 201, created.text)
    assert.equal(count(created.text), 1)
  }
  for (const name of ['json', 'yaml', 'protobuf']) {
    for (const type of ['application/json', 'application/yaml']) {
      assert.equal(count((await api.ask('GET', `${NODES}/${name}`, { headers: { accept: type } })).text), 1)
    }
    const { bytes } = await api.ask('GET', `${NODES}/${name}`, { headers: { accept: protobuf } })
    assert.equal(count(jsonText(decodeProtobuf(schema, bytes))), 1)
  }
  const lists = ['application/json', 'application/yaml', 'application/json;as=Table;g=meta.orch.io;v=v1']
  for (const accept of lists) {
    assert.equal(
      count((await api.ask('GET', `${NODES}?includeObject=Object`, { headers: { accept } })).text),
      3,
    )
  }
  const before = (await api.ask('GET', `${NODES}/json`)).doc
  const unchanged = await api.ask('PATCH', `${NODES}/json/status`, {
    type: 'application/merge-patch+json',
    body: `{"status":{"images":[{"names":["a"],"sizeBytes":${SIZE}}]}}`,
  })
  assert.equal(unchanged.doc.metadata?.resourceVersion, before.metadata?.resourceVersion, unchanged.text)
  for (const [type, body, size] of [
    ['application/merge-patch+json', '{"metadata":{"labels":{"a":"b"}}}', SIZE],
    [
      'application/json-patch+json',
      `[{"op":"test","path":"/status/images/0/sizeBytes","value":${SIZE}}]`,
      SIZE,
    ],
    [
      'application/json-patch+json',
      '[{"op":"replace","path":"/status/images/0/sizeBytes","value":-9007199254740993}]',
      '-9007199254740993',
    ],
    [
      'application/strategic-merge-patch+json',
      '{"status":{"images":[{"names":["b"],"sizeBytes":9007199254740995}]}}',
      '9007199254740995',
    ],
  ] as const) {
    const patched = await api.ask('PATCH', `${NODES}/json/status`, { type, body })
    assert.equal(patched.status, 200, patched.text)
    assert.ok(patched.text.includes(`"sizeBytes":${size}}`), patched.text)
  }
})

void test('spec 4.4: a number beyond int64 is refused with its field and all its digits', async (t) => {
  const api = await SpecServer.start(t)
  const { status, doc } = await api.ask('POST', NODES, { body: nodeText('a', '9223372036854775808') })
  assert.equal(status, 400)
  assert.equal(
    doc.message,
    'Node in version "v1" cannot be handled as a Node: json: cannot unmarshal number 9223372036854775808 ' +
      'into field status.images[0].sizeBytes of type int64',
  )
})

void test('spec 9.4: a lone surrogate becomes U+FFFD in a JSON create or patch, and is refused in YAML', async (t) => {
  const api = await SpecServer.start(t)
  const path = '/api/v1/namespaces/default/configmaps'
  const body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"\\ud800"}}'
  const created = await api.ask('POST', path, { body })
  assert.equal(created.doc.data?.['a'], '\ufffd', created.text)
  const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: "\\ud800"}\n'
  const other = await api.ask('POST', path, { body: yaml, type: 'application/yaml' })
  const applied = await api.ask('PATCH', `${path}/b?fieldManager=m`, {
    ...{ type: 'application/apply-patch+yaml', body: body.replace('"name":"a"', '"name":"b"') },
  })
  for (const { status, doc } of [other, applied]) {
    assert.equal(status, 400)
    assert.match(doc.message ?? '', /found invalid Unicode character escape code$/)
  }
  for (const [type, patch] of [
    ['application/merge-patch+json', '{"data":{"a":"\\udc00x"}}'],
    ['application/strategic-merge-patch+json', '{"data":{"a":"\\udc00x"}}'],
    ['application/json-patch+json', '[{"op":"add","path":"/data/a","value":"\\udc00x"}]'],
  ] as const) {
    await api.ask('PATCH', `${path}/a`, { type: 'application/merge-patch+json', body: '{"data":{"a":"y"}}' })
    const patched = await api.ask('PATCH', `${path}/a`, { type, body: patch })
    assert.equal(patched.doc.data?.['a'], '\ufffdx', patched.text)
  }
})
