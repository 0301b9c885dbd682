/*
 * Goal: other programs can verify service account tokens by the documents of the issuer. Method:
 * the shipped server, and a library that reads such documents.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { THIS_SERVER } from '../../fixtures/real-registry.ts'
import { NOBODY } from '../../fixtures/server-fixture.ts'
import { ecKey, otherKey, rsaKey } from '../../fixtures/token-keys.ts'
import { issuerDocuments } from '../../src/auth/service-accounts/issuer-documents.ts'
import { tokenKeysOf } from '../../src/auth/service-accounts/token-keys.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import { tokenOf } from '../support/fixtures/token-kit.ts'

const CONFIGURATION = '/.well-known/openid-configuration'
const KEYS = '/openid/v1/jwks'
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'

void test('spec 5.6: service accounts can read the issuer documents, and tokens verify by them', async (t) => {
  const api = await SpecServer.start(t)
  assert.equal((await api.ask('POST', ACCOUNTS, { body: { metadata: { name: 'robot' } } })).status, 201)
  const { doc } = await api.ask('POST', `${ACCOUNTS}/robot/token`, {
    body: { spec: { audiences: [THIS_SERVER] } },
  })
  const { token } = doc.status as { readonly token: string }
  const headers = { authorization: `Bearer ${token}` }

  const configuration = await api.ask('GET', CONFIGURATION, { headers })
  assert.equal(configuration.status, 200)
  assert.deepEqual(configuration.doc, {
    issuer: THIS_SERVER,
    jwks_uri: `${THIS_SERVER}${KEYS}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
  })
  assert.equal(configuration.headers.get('cache-control'), 'public, max-age=3600')

  const keys = await api.ask('GET', KEYS, { headers })
  assert.deepEqual([keys.status, keys.headers.get('content-type')], [200, 'application/jwk-set+json'])
  const set = JSON.parse(keys.text) as JSONWebKeySet
  for (const key of set.keys) assert.equal(key.d, undefined)
  const find = createLocalJWKSet(set)
  const options = {
    issuer: THIS_SERVER,
    audience: THIS_SERVER,
    subject: 'system:serviceaccount:default:robot',
  }
  assert.equal((await jwtVerify(token, find, options)).protectedHeader.alg, 'ES256')
  await jwtVerify(tokenOf({ iss: THIS_SERVER }, rsaKey), find)
  await assert.rejects(jwtVerify(tokenOf({ iss: THIS_SERVER }, otherKey), find))

  for (const path of [CONFIGURATION, KEYS]) {
    assert.equal((await api.ask('GET', path, { headers: NOBODY })).status, 403)
    assert.equal((await api.ask('GET', path, { headers: { authorization: '' } })).status, 403)
    assert.equal((await api.ask('POST', path)).status, 405)
  }
  const paths = (await api.ask('GET', '/')).doc['paths'] as readonly string[]
  assert.ok(paths.includes(CONFIGURATION) && paths.includes(KEYS))
})

void test('an issuer that is not an HTTPS URL without query and fragment has no documents', async (t) => {
  const keys = () => tokenKeysOf([], ecKey)
  for (const issuer of ['cluster', 'http://x', 'https://x?a=b', 'https://x#a', '']) {
    assert.equal(issuerDocuments({ issuer, keySetUrl: 'https://x', keys }), null)
  }
  const api = await SpecServer.start(t, { dependencies: { issuer: null } })
  for (const path of [CONFIGURATION, KEYS]) assert.equal((await api.ask('GET', path)).status, 404)
})
