// Goal: the stored form can be cut and spliced by bytes. Method: splice, parse, compare.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeObject } from '../../../../../src/api/codec/object-json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import type { ApiObject } from '../../../../../src/api/metadata/object.ts'

type Object = ApiObject & JsonObject

function spliced(object: Object, revision: string): { whole: unknown; item: unknown; text: string } {
  const { text, revisionOffset, itemOffset } = encodeObject(object)
  const bytes = Buffer.from(text)
  const whole = Buffer.concat([
    bytes.subarray(0, revisionOffset),
    Buffer.from(revision),
    bytes.subarray(revisionOffset),
  ])
  const item = `{${whole.subarray(itemOffset).toString()}`
  return { whole: JSON.parse(whole.toString()), item: JSON.parse(item), text }
}

void test('kind and apiVersion come first, then ordered metadata, then the rest in its original order', () => {
  const object = {
    data: { z: '1', a: '2' },
    metadata: { labels: { b: 'c' }, uid: 'u', resourceVersion: '99', name: 'x', namespace: 'n' },
    apiVersion: 'v1',
    kind: 'ConfigMap',
    extra: [1],
  } as Object
  const { text, whole, item } = spliced(object, '42')
  assert.equal(
    text,
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"n","uid":"u",' +
      '"resourceVersion":"","labels":{"b":"c"}},"data":{"z":"1","a":"2"},"extra":[1]}',
  )
  assert.deepEqual(whole, { ...object, metadata: { ...object.metadata, resourceVersion: '42' } })
  assert.deepEqual(item, {
    metadata: { ...object.metadata, resourceVersion: '42' },
    data: object['data'],
    extra: [1],
  })
})

void test('offsets count bytes, also with a name of multi-byte characters', () => {
  const object = { kind: 'Rôle', apiVersion: 'v1', metadata: { name: 'é€😀"\\' } } as Object
  const { whole } = spliced(object, '7')
  assert.deepEqual(whole, { ...object, metadata: { ...object.metadata, resourceVersion: '7' } })
})

void test('an object with empty metadata still has a place for its revision', () => {
  const { text, whole } = spliced({ kind: 'A', apiVersion: 'v1', metadata: {} }, '1')
  assert.equal(text, '{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":""}}')
  assert.deepEqual(whole, { kind: 'A', apiVersion: 'v1', metadata: { resourceVersion: '1' } })
})

void test('members that look like numbers or like the revision do not mislead', () => {
  const decoy = { resourceVersion: '' }
  const object = {
    ...{
      kind: 'A',
      apiVersion: 'v1',
      '1': decoy,
      metadata: { name: '"resourceVersion":""', labels: { '2': '' } },
    },
    ...{ z: decoy },
  } as Object
  const { whole, item, text } = spliced(object, '5')
  assert.ok(text.startsWith('{"kind":"A","apiVersion":"v1","metadata":{"name":'))
  assert.deepEqual(whole, { ...object, metadata: { ...object.metadata, resourceVersion: '5' } })
  assert.deepEqual(item, { '1': decoy, z: decoy, metadata: { ...object.metadata, resourceVersion: '5' } })
})
