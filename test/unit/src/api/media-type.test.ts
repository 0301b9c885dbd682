// Goal: content negotiation as spec 4.7 and existing clients have it. Method: headers that clients
// really send.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { bodyFormatOf, JSON_SERVED, negotiate, patchFormatOf } from '../../../../src/api/media-type.ts'

const jsonAndPlain = [...JSON_SERVED, { type: 'text/plain' }]

void test('spec 4.7: JSON is served to a client that accepts it, whatever else it accepts, with parameters that ask for no other form', () => {
  for (const accept of [
    '',
    '*/*',
    'application/*',
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/json;stream=watch',
    'application/json;pretty=1',
    'application/json;foo=bar;charset=latin1; pretty="0"',
    '*/*;foo=bar;q=0.1',
    'application/vnd.kubernetes.protobuf, */*',
    'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,' +
      'application/json',
    'application/yaml;q=1, application/json;q=0.1',
    'text/html;q=0.9, application/xml;level="a,b";q=0.8, */*;q=0.1',
  ]) {
    assert.equal(negotiate(accept, JSON_SERVED).type, 'application/json', accept)
  }
})

void test('spec 4.7: a request that accepts no supported media type is a 406', () => {
  for (const accept of [
    'application/yaml',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;stream=other',
    'application/json;as=Nothing;pretty=1',
    'application/json;q=0',
    'application/json;q=0, */*',
    'nonsense',
  ]) {
    assert.throws(
      () => negotiate(accept, JSON_SERVED),
      (error) => error instanceof ApiError && error.code === 'NotAcceptable',
      accept,
    )
  }
})

void test("quality decides, then the client's order, then the server's", () => {
  assert.equal(negotiate('application/json;q=0.5, text/plain', jsonAndPlain).type, 'text/plain')
  assert.equal(negotiate('text/plain, application/json', jsonAndPlain).type, 'text/plain')
  assert.equal(negotiate('*/*', jsonAndPlain).type, 'application/json')
  assert.equal(negotiate('application/json;q=0, */*', jsonAndPlain).type, 'text/plain')
})

void test('a header beyond its limits is a 400', () => {
  for (const accept of ['a'.repeat(9000), Array.from({ length: 65 }, () => 'a/b').join()]) {
    assert.throws(
      () => negotiate(accept, JSON_SERVED),
      (error) => error instanceof ApiError && error.code === 'BadRequest',
    )
  }
})

void test('a body without media type is JSON; an unsupported type is a 415 that names the supported ones', () => {
  const all = ['json', 'yaml', 'protobuf'] as const
  assert.equal(bodyFormatOf('', all), 'json')
  assert.equal(bodyFormatOf('application/json; charset=utf-8', all), 'json')
  assert.equal(bodyFormatOf('application/yaml', all), 'yaml')
  assert.equal(bodyFormatOf('application/vnd.kubernetes.protobuf', all), 'protobuf')
  assert.equal(bodyFormatOf('application/vnd.orch.protobuf', all), 'protobuf')
  for (const [type, known, named] of [
    ['text/plain', all, /application\/json, application\/yaml, application\/vnd\.orch\.protobuf/],
    ['application/x-www-form-urlencoded', all, /application\/vnd\.kubernetes\.protobuf/],
    ['application/vnd.orch.protobuf', ['json', 'yaml'], /application\/json, application\/yaml$/],
  ] as const) {
    assert.throws(
      () => bodyFormatOf(type, known),
      (error) =>
        error instanceof ApiError && error.code === 'UnsupportedMediaType' && named.test(error.message),
      type,
    )
  }
})

void test('spec 4.3: the content type determines the kind of a patch', () => {
  const known = ['json-patch', 'merge-patch', 'strategic-merge-patch'] as const
  assert.equal(patchFormatOf('application/merge-patch+json', known), 'merge-patch')
  assert.equal(patchFormatOf('application/strategic-merge-patch+json;x=y', known), 'strategic-merge-patch')
  for (const type of ['application/json', '', 'application/apply-patch+yaml']) {
    assert.throws(
      () => patchFormatOf(type, known),
      (error) => error instanceof ApiError && error.code === 'UnsupportedMediaType',
    )
  }
})
