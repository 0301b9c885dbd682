/*
 * Goal: TokenReview identifies the user of a token as in spec 2.12 and 5.2, by the server's own
 * authentication methods.
 * Method: the shipped verbs with the shipped token file.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { alwaysAllow } from '../../../../src/auth/always.ts'
import { reviewersOf } from '../../../../src/auth/reviewers.ts'
import { tokenFile } from '../../../../src/auth/token-file.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'

const tokens = [tokenFile('hush,jane,7,"staff,night"\n', 'tokens.csv')]
const audiences = ['https://this.server', 'https://also.this']

function open(): Promise<Fixture> {
  return Fixture.open({ reviewers: reviewersOf({ authorizer: alwaysAllow, tokens, audiences }) })
}

function ask(api: Fixture, spec: JsonObject): Promise<Got> {
  return api.create({ kind: 'TokenReview', body: { spec } })
}

const user = { username: 'jane', uid: '7', groups: ['staff', 'night', 'system:authenticated'] }

void test('spec 2.12: TokenReview returns the user of a token', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const { code, object } = await ask(api, { token: 'hush' })
  assert.deepEqual(
    [code, object],
    [
      201,
      {
        kind: 'TokenReview',
        apiVersion: 'authentication.orch.io/v1',
        spec: { token: 'hush' },
        status: { authenticated: true, user },
        metadata: { creationTimestamp: null },
      },
    ],
  )
})

void test('spec 5.2: an unknown token is not authenticated, with an error', async (t) => {
  const api = await open()
  t.after(() => api.close())
  for (const token of ['other', 'hush, hush', 'hush x', 'Bearer hush']) {
    const { code, object } = await ask(api, { token })
    assert.deepEqual([code, object['status']], [201, { user: {}, error: 'invalid bearer token' }])
  }
  const none = await refused(ask(api, {}))
  assert.deepEqual([none.code, none.message], [400, 'token is required for TokenReview in authentication'])
})

void test('spec 5.2: the returned audiences are the requested ones that the server accepts', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const ours = await ask(api, { token: 'hush', audiences: ['https://else.where', 'https://also.this'] })
  assert.deepEqual(ours.object['status'], { authenticated: true, user, audiences: ['https://also.this'] })
  const others = await ask(api, { token: 'hush', audiences: ['https://else.where'] })
  const status = others.object['status'] as JsonObject
  assert.equal(status['authenticated'], undefined)
  assert.deepEqual(status['user'], {})
  assert.match(textMember(status, 'error'), /https:\/\/else\.where/)
})

void test('spec 2.12: both versions of TokenReview are served', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const versions = api.catalog.all().filter(({ kind }) => kind === 'TokenReview')
  assert.deepEqual(
    versions.map(({ version }) => version),
    ['v1', 'v1beta1'],
  )
  const [, beta] = versions
  assert.ok(beta !== undefined)
  const request = api.request({ kind: 'TokenReview', body: { spec: { token: 'hush' } } })
  const answer = await api.registry.create({ ...request, definition: beta })
  assert.equal(answer.kind, 'document')
  if (answer.kind !== 'document') return
  const text = Buffer.from(answer.bytes).toString()
  assert.ok(text.startsWith('{"kind":"TokenReview","apiVersion":"authentication.orch.io/v1beta1"'), text)
})
