/*
 * Goal: the identity token that a real OpenID provider issues to a user at login works as a
 * bearer token, and its access token does not.
 * Method: a certified provider over HTTPS, the authorization code flow, and the whole server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import { RealOidcProvider } from '../support/fixtures/real-oidc-provider.ts'

void test('spec 5, 5.1: the identity token of a login at a real provider authenticates, its access token does not', async (t) => {
  const provider = await RealOidcProvider.start(t)
  const file = filesOf(t)
  const policy = {
    apiVersion: 'abac.authorization.orch.io/v1beta1',
    kind: 'Policy',
    spec: { group: 'oidc:team', namespace: '*', resource: 'configmaps', apiGroup: '*' },
  }
  const api = await AccessServer.start(t, {
    'oidc-issuer-url': provider.issuer,
    'oidc-client-id': 'orch',
    'oidc-ca-file': file('provider-ca.crt', provider.authority.pem),
    'oidc-username-claim': 'email',
    'oidc-groups-claim': 'groups',
    'oidc-groups-prefix': 'oidc:',
    'authorization-mode': 'ABAC',
    'authorization-policy-file': file('policies', JSON.stringify(policy)),
  })
  for (const person of ['kate', 'lena']) {
    const { id_token: identity, access_token: access } = await provider.login(person)
    const headers = { authorization: `Bearer ${identity}` }
    assert.equal(await api.user({ headers }), `${person}@example.com`)
    assert.equal((await api.ask('/api/v1/namespaces/default/configmaps', { headers })).status, 200)
    assert.equal((await api.ask('/api/v1/namespaces/default/secrets', { headers })).status, 403)
    assert.equal(await api.user({ headers: { authorization: `Bearer ${access}` } }), '401')
  }
})
