/*
 * Goal: errors in a body are found in every format, and reported, refused or ignored as requested.
 * Method: the shipped verbs; each format with duplicate and unknown members, in each of the three
 * modes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fixture, refused } from '../fixture.ts'
import type { Call } from '../fixture.ts'

type Row = {
  readonly what: string
  readonly verb: 'create' | 'update' | 'patch'
  readonly call: Call
  readonly found: readonly string[]
}

const patch = (type: string): string => `application/${type}+json`
const doubled = '{"data":{"k":"1","k":"2"},"dta":1}'
const fieldsFound = ['duplicate field "data.k"', 'unknown field "dta"']

const rows: readonly Row[] = [
  {
    what: 'JSON',
    verb: 'update',
    call: { rawBody: `{"metadata":{"name":"a"},${doubled.slice(1)}` },
    found: fieldsFound,
  },
  {
    what: 'YAML',
    verb: 'update',
    call: {
      rawBody: 'metadata:\n  name: a\ndata:\n  k: "1"\n  k: "2"\ndta: 1\n',
      contentType: 'application/yaml',
    },
    found: ['line 5: key "k" already set in map', 'unknown field "dta"'],
  },
  {
    what: 'merge patch',
    verb: 'patch',
    call: { rawBody: doubled, contentType: patch('merge-patch') },
    found: fieldsFound,
  },
  {
    what: 'strategic merge patch',
    verb: 'patch',
    call: { rawBody: doubled, contentType: patch('strategic-merge-patch') },
    found: fieldsFound,
  },
  {
    what: 'JSON patch',
    verb: 'patch',
    call: {
      rawBody:
        '[{"op":"add","path":"/data","value":{"k":"2"},"form":1},{"op":"add","path":"/x","path":"/dta","value":1}]',
      contentType: patch('json-patch'),
    },
    found: [
      'json patch unknown field "[0].form"',
      'json patch duplicate field "[1].path"',
      'unknown field "dta"',
    ],
  },
]

for (const { what, verb, call, found } of rows) {
  void test(`spec 4.2: fieldValidation refuses, reports or ignores the errors of a body in ${what}`, async (t) => {
    const fixture = await Fixture.open()
    t.after(() => fixture.close())
    await fixture.configMap('a')
    const ask = (fieldValidation: string) =>
      fixture[verb]({ ...call, name: 'a', query: fieldValidation === '' ? {} : { fieldValidation } })
    const strict = await refused(ask('Strict'))
    assert.equal(strict.code, 400)
    assert.ok(strict.message.endsWith(`strict decoding error: ${found.join(', ')}`), strict.message)
    assert.deepEqual(fixture.warnings, [])
    for (const mode of ['Warn', '', 'Ignore']) {
      fixture.warnings.length = 0
      const done = await ask(mode)
      assert.deepEqual(done.object['data'], { k: '2' }, mode)
      assert.equal(done.object['dta'], undefined, mode)
      assert.deepEqual(fixture.warnings, mode === 'Ignore' ? [] : found, mode)
    }
  })
}

void test('spec 4.2: fieldValidation reports a bounded number of findings', async (t) => {
  const fixture = await Fixture.open()
  t.after(() => fixture.close())
  const unknown = Array.from({ length: 20_000 }, (_, at) => `"x${at}":1,"x${at}":2`).join(',')
  const rawBody = `{"metadata":{"name":"a"},${unknown}}`
  await fixture.create({ rawBody })
  assert.equal(fixture.warnings.length, 50)
  const strict = await refused(fixture.create({ rawBody, query: { fieldValidation: 'Strict' } }))
  assert.equal(strict.message.split(', ').length, 128)
})

void test('a body that is not UTF-8, or nested too deeply, is a 400 in every format', async (t) => {
  const fixture = await Fixture.open()
  t.after(() => fixture.close())
  await fixture.configMap('a')
  const latin = Buffer.from('{"metadata":{"name":"b"},"data":{"k":"\u00e9"}}', 'latin1')
  const deep = `{"metadata":{"name":"b"},"data":${'['.repeat(5000)}${']'.repeat(5000)}}`
  for (const rawBody of [latin, deep]) {
    for (const contentType of ['application/json', 'application/yaml']) {
      assert.equal((await refused(fixture.create({ rawBody, contentType }))).code, 400, contentType)
    }
    for (const type of ['merge-patch', 'strategic-merge-patch', 'json-patch'].map(patch)) {
      const call = { rawBody, name: 'a', contentType: type }
      assert.equal((await refused(fixture.patch(call))).code, 400, type)
    }
  }
})
