/*
 * Goal: one object that cannot be decrypted any longer leaves everything else usable, and an
 * administrator can delete it.
 * Method: requests over HTTP to the shipped server, verbs and state machine, whose keys are lost or
 * whose stored bytes are changed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  SECRETS,
  createSecret,
  encryptedServer,
  keysOf,
  keysWith,
  providerOf,
  versionOf,
} from '../support/fixtures/encrypted-server.ts'
import { definitionBody } from '../unit/src/resources/crd/definition-samples.ts'
import type { SpecServer } from '../support/fixtures/spec-server.ts'
import { namesIn } from '../support/fixtures/spec-server.ts'

const [one, two] = [providerOf('one', 1), providerOf('two', 2)]
const OPTION = 'ignoreStoreReadErrorWithClusterBreakingPotential'
const ROLES = '/apis/rbac.authorization.orch.io/v1/namespaces/default'
const JANE = { authorization: 'Bearer jane-token' }

async function grant(api: SpecServer, name: string, verbs: readonly string[]): Promise<void> {
  const apiVersion = 'rbac.authorization.orch.io/v1'
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs }]
  const role = { apiVersion, kind: 'Role', metadata: { name }, rules }
  assert.equal((await api.ask('POST', `${ROLES}/roles`, { body: role })).status, 201)
  const binding = {
    ...{ apiVersion, kind: 'RoleBinding', metadata: { name } },
    roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'Role', name },
    subjects: [{ apiGroup: 'rbac.authorization.orch.io', kind: 'User', name: 'jane' }],
  }
  assert.equal((await api.ask('POST', `${ROLES}/rolebindings`, { body: binding })).status, 201)
}

void test('an object whose key is lost is deleted with the option for it, despite its finalizers', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  const metadata = { finalizers: ['example.com/kept'] }
  const { uid } = (await createSecret(api, 'lost', 'x', metadata)).doc.metadata ?? {}
  use(keysWith(two))
  await createSecret(api, 'other', 'y')
  const refused = await api.ask('DELETE', `${SECRETS}/lost`)
  assert.deepEqual([refused.status, refused.doc.reason], [500, 'InternalError'])
  assert.match(refused.doc.message ?? '', /secrets "default\/lost" is encrypted with the aesgcm key "one"/)
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', [OPTION]: true }
  const deleted = await api.ask('DELETE', `${SECRETS}/lost`, { body })
  assert.deepEqual([deleted.status, deleted.doc.kind, deleted.doc.status], [200, 'Status', 'Success'])
  assert.equal((deleted.doc['details'] as { readonly uid?: string }).uid, uid)
  assert.equal((await api.ask('GET', `${SECRETS}/lost`)).status, 404)
  assert.deepEqual(namesIn((await api.ask('GET', SECRETS)).doc), ['other'])
  assert.equal((await api.ask('DELETE', `${SECRETS}/lost?${OPTION}=true`)).status, 404)
})

void test('the cluster IP of a Service whose key is lost is free again once the Service is deleted', async (t) => {
  const services = '/api/v1/namespaces/default/services'
  const { api, use } = await encryptedServer(t, keysOf('services', one))
  const serviceOf = (name: string): object => ({
    ...{ kind: 'Service', apiVersion: 'v1', metadata: { name } },
    spec: { clusterIP: '10.0.0.9', ports: [{ port: 80 }] },
  })
  assert.equal((await api.ask('POST', services, { body: serviceOf('lost') })).status, 201)
  use(keysOf('services', two))
  assert.equal((await api.ask('POST', services, { body: serviceOf('next') })).status, 422)
  assert.equal((await api.ask('DELETE', `${services}/lost?${OPTION}=true`)).status, 200)
  assert.equal((await api.ask('POST', services, { body: serviceOf('next') })).status, 201)
})

void test('an object whose stored bytes were changed is deleted with the option in the query', async (t) => {
  const { api, damage } = await encryptedServer(t, keysWith(one))
  await createSecret(api, 'damaged', 'x')
  await damage('damaged')
  assert.match((await api.ask('GET', `${SECRETS}/damaged`)).text, /its stored bytes were changed/)
  assert.equal((await api.ask('DELETE', `${SECRETS}/damaged?${OPTION}=true`)).status, 200)
  await createSecret(api, 'damaged', 'again')
})

void test('the option for unreadable objects refuses readable ones, and other options with it', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  await createSecret(api, 'a', 'x')
  const readable = await api.ask('DELETE', `${SECRETS}/a`, { body: { [OPTION]: true } })
  assert.equal(readable.status, 422)
  assert.equal(
    readable.doc.message,
    `secrets "a" is invalid: ${OPTION}: Invalid value: true: is exclusively used to delete corrupt object(s), try again by removing this option`,
  )
  use(keysWith(two))
  for (const [field, value] of [
    ['dryRun', ['All']],
    ['propagationPolicy', 'Background'],
    ['orphanDependents', false],
    ['gracePeriodSeconds', 0],
    ['preconditions', { uid: 'x' }],
  ] as const) {
    const reply = await api.ask('DELETE', `${SECRETS}/a`, { body: { [OPTION]: true, [field]: value } })
    assert.equal(reply.status, 422, reply.text)
    const words = `${OPTION}: Invalid value: true: cannot be set together with .${field}`
    assert.ok(reply.doc.message?.endsWith(words), reply.text)
  }
  const dry = await api.ask('DELETE', `${SECRETS}/a?${OPTION}=true&dryRun=All`)
  assert.deepEqual([dry.status, dry.doc.reason], [422, 'Invalid'])
  const collection = await api.ask('DELETE', SECRETS, { body: { [OPTION]: true } })
  assert.equal(collection.status, 400)
  assert.match(collection.doc.message ?? '', /is not allowed with DELETECOLLECTION/)
  assert.equal((await api.ask('DELETE', `${SECRETS}/a`, { body: { [OPTION]: false } })).status, 500)
  use(keysWith(one))
  assert.equal((await api.ask('GET', `${SECRETS}/a`)).status, 200, 'nothing was deleted')
})

void test('deleting an unreadable object needs a permission of its own besides delete', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  await createSecret(api, 'a', 'x')
  use(keysWith(two))
  const attempt = () => api.ask('DELETE', `${SECRETS}/a?${OPTION}=true`, { headers: JANE })
  await grant(api, 'deletes', ['delete'])
  const refused = await attempt()
  assert.deepEqual([refused.status, refused.doc.reason], [403, 'Forbidden'], refused.text)
  assert.match(refused.doc.message ?? '', /not permitted to do "unsafe-delete-ignore-read-errors"/)
  await grant(api, 'repairs', ['unsafe-delete-ignore-read-errors'])
  assert.equal((await attempt()).status, 200)
})

void test('lists and watches that do not select an unreadable object are served', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  const since = versionOf(await createSecret(api, 'first', 'x'))
  await createSecret(api, 'lost', 'x')
  use(keysWith(two))
  await createSecret(api, 'b', 'y')
  const selector = 'fieldSelector=metadata.name%3Db'
  assert.deepEqual(namesIn((await api.ask('GET', `${SECRETS}?${selector}`)).doc), ['b'])
  assert.equal((await api.ask('GET', '/api/v1/namespaces/kube-public/secrets')).status, 200)
  const from = `watch=true&resourceVersion=${since}&timeoutSeconds=1`
  const watched = await api.ask('GET', `${SECRETS}?${from}&${selector}`)
  assert.match(watched.text, /^\{"type":"ADDED".*"name":"b"/)
  assert.equal(watched.text.trim().split('\n').length, 1)
  const whole = await api.ask('GET', `${SECRETS}?${from}`)
  assert.match(whole.text, /^\{"type":"ERROR".*secrets \\"default\/lost\\"/)
})

void test('a watch ends with an error at the deletion of an unreadable object, and a list works again', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  await createSecret(api, 'lost', 'x')
  use(keysWith(two))
  const since = versionOf(await createSecret(api, 'b', 'y'))
  const watching = api.ask('GET', `${SECRETS}?watch=true&resourceVersion=${since}&timeoutSeconds=5`)
  assert.equal((await api.ask('DELETE', `${SECRETS}/lost?${OPTION}=true`)).status, 200)
  assert.match((await watching).text, /^\{"type":"ERROR".*secrets \\"default\/lost\\"/)
  const listed = await api.ask('GET', SECRETS)
  assert.deepEqual(namesIn(listed.doc), ['b'])
  const later = `watch=true&resourceVersion=${listed.doc.metadata?.resourceVersion ?? ''}&timeoutSeconds=1`
  assert.equal((await api.ask('GET', `${SECRETS}?${later}`)).text, '')
})

void test('a list with a damaged object is an error that names it, and never a shorter list', async (t) => {
  const { api, damage } = await encryptedServer(t, keysWith(one))
  for (let at = 10; at < 40; at++) await createSecret(api, `s-${at}`, 'x'.repeat(150_000))
  await damage('s-39')
  for (const query of ['', '?labelSelector=app', '?limit=30']) {
    const reply = await api.ask('GET', SECRETS + query)
    assert.equal(reply.status, 500, query)
    assert.match(reply.doc.message ?? '', /secrets "default\/s-39" cannot be decrypted/)
  }
  assert.equal((await api.ask('GET', `${SECRETS}?limit=20`)).status, 200)
})

void test('a namespace stays while a definition, of whose kind it may have objects, cannot be decrypted', async (t) => {
  const definitions = '/apis/apiextensions.orch.io/v1/customresourcedefinitions'
  const resource = 'customresourcedefinitions.apiextensions.orch.io'
  const { api, use } = await encryptedServer(t, keysOf(resource, one))
  const body = { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'n' } }
  assert.equal((await api.ask('POST', '/api/v1/namespaces', { body })).status, 201)
  const made = await api.ask('POST', definitions, {
    body: { kind: 'CustomResourceDefinition', apiVersion: 'apiextensions.orch.io/v1', ...definitionBody() },
  })
  assert.equal(made.status, 201, made.text)
  use(keysOf(resource, two))
  const { doc } = await api.ask('DELETE', '/api/v1/namespaces/n')
  const finalize = () =>
    api.ask('PUT', '/api/v1/namespaces/n/finalize', { body: { ...doc, spec: { finalizers: [] } } })
  const refused = await finalize()
  assert.deepEqual([refused.status, refused.doc.reason], [500, 'InternalError'], refused.text)
  assert.match(refused.doc.message ?? '', /"gadgets\.test\.example" is encrypted with the aesgcm key "one"/)
  assert.equal((await api.ask('GET', '/api/v1/namespaces/n')).status, 200)
  use(keysOf(resource, one))
  assert.equal((await finalize()).status, 200)
  assert.equal((await api.ask('GET', '/api/v1/namespaces/n')).status, 404)
})
