/*
 * Goal: a disabled feature has no effect, and everything else works.
 * Method: the shipped verbs with each switch off.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { allSwitchesOn } from '../../../../../src/registry/calls/query-options.ts'
import { Fixture } from '../fixture.ts'

async function withOff(t: TestContext, off: keyof typeof allSwitchesOn): Promise<Fixture> {
  const fixture = await Fixture.open({ switches: { ...allSwitchesOn, [off]: false } })
  t.after(() => fixture.close())
  for (const name of ['a', 'b', 'c']) await fixture.configMap(name)
  return fixture
}

void test('spec 9.7: without APIListChunking limit and continue are ignored', async (t) => {
  const fixture = await withOff(t, 'listChunking')
  for (const query of [{ limit: '1' }, { continue: 'not a token' }, { limit: 'some' }] as const) {
    const list = await fixture.list({ query })
    assert.equal(list.items.length, 3)
    assert.equal(list.metadata.continue, undefined)
  }
})

void test('spec 9.7: without RemainingItemCount a page does not state how many objects follow', async (t) => {
  const fixture = await withOff(t, 'remainingItemCount')
  const page = await fixture.list({ query: { limit: '1' } })
  assert.equal(page.items.length, 1)
  assert.equal(typeof page.metadata.continue, 'string')
  assert.equal(page.metadata.remainingItemCount, undefined)
  const table = await fixture.registry.list({
    ...fixture.request({ query: { limit: '1' } }),
    representation: {
      as: 'table',
      encoding: 'json',
      shape: { apiVersion: 'meta.k8s.io/v1', includeObject: 'None' },
    },
  })
  assert.ok(table.kind === 'pieces')
  let text = ''
  for await (const piece of table.pieces as AsyncIterable<Uint8Array>) text += Buffer.from(piece).toString()
  assert.match(text, /"continue"/)
  assert.doesNotMatch(text, /remainingItemCount/)
})

void test('spec 9.7: without ServerSideFieldValidation unknown fields are dropped silently', async (t) => {
  const fixture = await withOff(t, 'fieldValidation')
  const rawBody = '{"metadata":{"name":"d"},"data":{"k":"1","k":"2"},"dta":{}}'
  const made = await fixture.create({ rawBody, query: { fieldValidation: 'Strict' } })
  assert.equal(made.code, 201)
  assert.deepEqual(made.object['data'], { k: '2' })
  assert.equal(made.object['dta'], undefined)
  assert.deepEqual(fixture.warnings, [])
})
