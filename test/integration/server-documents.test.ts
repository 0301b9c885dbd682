/**
 * Goal: what clients read before they ask for objects: discovery, OpenAPI, version, health,
 * metrics, membership.
 * Method: `inject` against the real server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { nodeId } from '../../raft/index.ts'
import { Catalog } from '../../src/registry/kinds/catalog.ts'
import { FakeRegistry } from '../support/fakes/fake-registry.ts'
import { ADMIN, serverAround } from '../../fixtures/server-fixture.ts'

async function start(t: TestContext) {
  const { server, consensus } = await serverAround(new FakeRegistry().registry)
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  const get = (url: string, headers: Record<string, string> = {}) =>
    server.app.inject({ method: 'GET', url, headers: { ...ADMIN, ...headers } })
  const json = async (url: string): Promise<unknown> => JSON.parse((await get(url)).body)
  return { server, consensus, get, json }
}

void test('discovery lists versions, groups and resources with their subresources', async (t) => {
  const { json } = await start(t)
  assert.deepEqual(await json('/api'), {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }],
  })
  const version = { groupVersion: 'example.io/v1', version: 'v1' }
  const group = { name: 'example.io', versions: [version], preferredVersion: version }
  assert.deepEqual(await json('/apis'), { kind: 'APIGroupList', apiVersion: 'v1', groups: [group] })
  assert.deepEqual(await json('/apis/example.io/'), { kind: 'APIGroup', apiVersion: 'v1', ...group })
  const core = (await json('/api/v1')) as { groupVersion: string; resources: { name: string }[] }
  assert.equal(core.groupVersion, 'v1')
  assert.deepEqual(
    core.resources.map(({ name }) => name),
    ['configmaps', 'namespaces', 'namespaces/finalize', 'namespaces/status'],
  )
  assert.deepEqual(core.resources[0], {
    name: 'configmaps',
    singularName: '',
    namespaced: true,
    kind: 'ConfigMap',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    shortNames: ['cm'],
    // The response of clusters of release 1.24 for this kind.
    storageVersionHash: 'qFsyl6wFWjQ=',
  })
})

void test('aggregated discovery lists everything in two documents, in either domain', async (t) => {
  const { get } = await start(t)
  for (const [group, version] of [
    ['apidiscovery.k8s.io', 'v2'],
    ['apidiscovery.k8s.io', 'v2beta1'],
    ['apidiscovery.orch.io', 'v2'],
  ] as const) {
    const type = `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`
    const accept = `${type},application/json`
    const core = await get('/api', { accept })
    assert.equal(core.headers['content-type'], type)
    const list = JSON.parse(core.body) as DiscoveryList
    assert.equal(list.apiVersion, `${group}/${version}`)
    assert.equal(list.kind, 'APIGroupDiscoveryList')
    assert.deepEqual(
      list.items.map((item) => item.metadata.name),
      [undefined],
    )
    const [namespaces] = list.items[0]?.versions[0]?.resources.slice(1) ?? []
    const responseKind = { group: '', version: 'v1', kind: 'Namespace' }
    assert.deepEqual(namespaces, {
      resource: 'namespaces',
      ...{ responseKind, scope: 'Cluster', singularResource: 'namespace' },
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['ns'],
      subresources: [
        { subresource: 'finalize', responseKind, verbs: ['update'] },
        { subresource: 'status', responseKind, verbs: ['get', 'patch', 'update'] },
      ],
    })
    const named = await get('/apis', { accept })
    const groups = JSON.parse(named.body) as DiscoveryList
    assert.deepEqual(
      groups.items.map((item) => item.metadata.name),
      ['example.io'],
    )
    const again = await get('/apis', { accept, 'if-none-match': String(named.headers['etag']) })
    assert.equal(again.statusCode, 304)
  }
})

void test('a client that requests no or an unknown aggregated discovery gets the plain documents', async (t) => {
  const { get } = await start(t)
  const unknown = 'application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList'
  const plain = await get('/apis', { accept: `${unknown},application/json` })
  assert.equal((JSON.parse(plain.body) as DiscoveryList).kind, 'APIGroupList')
  assert.equal(plain.headers['content-type'], 'application/json')
  assert.match(String(plain.headers['vary']), /Accept/)
  assert.equal((await get('/apis', { accept: unknown })).statusCode, 406)
})

type DiscoveryList = {
  readonly kind: string
  readonly apiVersion: string
  readonly items: readonly {
    readonly metadata: { readonly name?: string }
    readonly versions: readonly { readonly version: string; readonly resources: readonly object[] }[]
  }[]
}

void test('the root lists the served paths', async (t) => {
  const { json } = await start(t)
  const { paths } = (await json('/')) as { paths: string[] }
  for (const path of ['/api', '/api/v1', '/apis/example.io/v1', '/healthz', '/openapi/v2', '/version']) {
    assert.ok(paths.includes(path), path)
  }
  assert.deepEqual(paths, paths.toSorted())
})

void test('spec 9.8: the version names the release whose API is served', async (t) => {
  const { json } = await start(t)
  const version = (await json('/version')) as Record<string, string>
  assert.equal(`${version['major']}.${version['minor']}`, '1.24')
  assert.equal(version['gitVersion'], 'v1.24.0+orch-0.0.0')
  for (const key of ['gitCommit', 'gitTreeState', 'buildDate', 'goVersion', 'compiler', 'platform']) {
    assert.equal(typeof version[key], 'string', key)
  }
})

void test('OpenAPI is served as JSON or protobuf, and not again to clients with its ETag', async (t) => {
  const { get } = await start(t)
  const plain = await get('/openapi/v2')
  assert.equal(plain.body, '{"swagger":"2.0"}')
  const same = await get('/openapi/v2', { 'if-none-match': String(plain.headers['etag']) })
  assert.equal(same.statusCode, 304)
  const type = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
  const binary = await get('/openapi/v2', { accept: type })
  // The requested text is not a valid media type, so the response must not repeat it.
  assert.equal(binary.headers['content-type'], type.replace('@', '.'))
  assert.deepEqual([...binary.rawPayload], [1, 2, 3])
  assert.equal((await get('/openapi/v2', { accept: 'text/html' })).statusCode, 406)
  assert.equal((await get('/openapi/v3/api/v1')).body, '{"openapi":"3.0.0"}')
})

void test('spec 9.7: without the gate OpenAPIV3 OpenAPI of version 3 is not served, and not listed', async (t) => {
  const { registry } = new FakeRegistry()
  const openapi = { v2: async () => empty, v2Protobuf: async () => empty, v3: null }
  const { server } = await serverAround(registry, { openapi })
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  const get = (url: string) => server.app.inject({ method: 'GET', url, headers: ADMIN })
  for (const url of ['/openapi/v3', '/openapi/v3/api/v1']) assert.equal((await get(url)).statusCode, 404, url)
  const { paths } = JSON.parse((await get('/')).body) as { readonly paths: readonly string[] }
  assert.ok(paths.includes('/openapi/v2') && !paths.includes('/openapi/v3'))
})

const empty = { bytes: Buffer.from('{}'), etag: '"e"' }

void test('disabled resources are 404 and absent from discovery', async (t) => {
  const { registry } = new FakeRegistry()
  const served = new Catalog(registry.catalog.all().filter(({ plural }) => plural !== 'widgets'))
  const { server } = await serverAround(registry, { served })
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  const get = (url: string) => server.app.inject({ method: 'GET', url, headers: ADMIN })
  assert.equal((await get('/apis/example.io/v1/widgets')).statusCode, 404)
  assert.equal((await get('/apis/example.io/v1')).statusCode, 404)
  assert.deepEqual((JSON.parse((await get('/apis')).body) as { readonly groups: unknown }).groups, [])
  assert.equal((await get('/api/v1/namespaces/a/configmaps')).statusCode, 200)
})

void test('spec 6.2, 9.6: calls of a deprecated version are warned about and set a metric', async (t) => {
  const fake = new FakeRegistry()
  const kinds = fake.registry.catalog.all().map((kind) =>
    kind.plural === 'widgets'
      ? {
          ...kind,
          deprecated: { since: '1.24', removed: '1.27', replacement: { ...kind, version: 'v2' } },
        }
      : kind,
  )
  const { server } = await serverAround(fake.registry, { served: new Catalog(kinds) })
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  const get = (url: string) => server.app.inject({ method: 'GET', url, headers: ADMIN })
  assert.equal((await get('/api/v1/namespaces/a/configmaps')).headers['warning'], undefined)
  for (const url of ['/apis/example.io/v1/widgets', '/apis/example.io/v1/namespaces/a/widgets/missing']) {
    const words =
      'example.io/v1 Widget is deprecated in v1.24+, unavailable in v1.27+; use example.io/v2 Widget'
    assert.deepEqual([(await get(url)).headers['warning']].flat(), [`299 - "${words}"`], url)
  }
  const { body } = await get('/metrics')
  const found = body.split('\n').filter((line) => line.startsWith('apiserver_requested_deprecated_apis{'))
  const labels = 'group="example.io",version="v1",resource="widgets",subresource="",removed_release="1.27"'
  assert.deepEqual(found, [`apiserver_requested_deprecated_apis{${labels}} 1`])
})

void test('spec 4.5: health is 200 or 500, verbose on request and on failure, and recovers without a restart', async (t) => {
  const { get, consensus } = await start(t)
  assert.equal((await get('/readyz')).body, 'ok')
  const verbose = (await get('/readyz?verbose')).body
  assert.ok(verbose.startsWith('[+]ping ok\n'))
  assert.ok(verbose.endsWith('[+]shutdown ok\nhealthz check passed\n'))
  consensus.change({ leader: null })
  const failing = await get('/readyz')
  assert.equal(failing.statusCode, 500)
  assert.ok(failing.body.includes('[-]leader failed: reason withheld\n'))
  assert.ok(failing.body.endsWith('readyz check failed\n'))
  assert.equal((await get('/livez')).statusCode, 200)
  assert.equal((await get('/readyz/leader')).statusCode, 500)
  assert.equal((await get('/readyz?exclude=leader')).statusCode, 200)
  assert.ok((await get('/readyz?verbose&exclude=leader')).body.includes('[+]leader excluded: ok\n'))
  consensus.change({ leader: nodeId(2) })
  assert.equal((await get('/readyz')).statusCode, 200)
})

void test('metrics count responses by verb, resource and code', async (t) => {
  const { get } = await start(t)
  await get('/api/v1/namespaces/ns/configmaps/a')
  await get('/api/v1/namespaces/ns/made-up-by-a-stranger/a')
  const { body } = await get('/metrics')
  assert.match(
    body,
    /apiserver_request_total\{verb="GET",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="resource",component="apiserver",code="200"\} 1/,
  )
  assert.ok(body.includes('apiserver_request_duration_seconds_bucket'))
  assert.ok(!body.includes('made-up'))
})

void test('the cluster status describes this member and lists all members; leadership moves on request', async (t) => {
  const { server, consensus, json } = await start(t)
  const status = (await json('/cluster/v1/status')) as Record<string, unknown>
  assert.deepEqual(
    { ...status, members: (status['members'] as unknown[]).length },
    {
      ...{ name: 'n1', id: '1', role: 'leader', term: 3, leader: { id: '1', name: 'n1' } },
      ...{ commit: 10, appliedMemory: 10, appliedDisk: 9, members: 3, ready: true },
      state: { index: 0, digest: '0'.repeat(32), featureLevel: 1, quarantine: null },
    },
  )
  const transfer = (payload: string) =>
    server.app.inject({ method: 'POST', url: '/cluster/v1/transfer-leader', payload, headers: ADMIN })
  assert.equal((await transfer('{"to":"n2"}')).statusCode, 200)
  consensus.change({ leader: nodeId(1), role: 'leader' })
  assert.equal((await transfer('{"to":null}')).statusCode, 200)
  // The third member's log is the longest of the others'.
  assert.deepEqual(consensus.transfers, [2, 3])
  for (const wrong of ['{', '[]', '{"to":1}', '{"to":"nobody"}']) {
    assert.equal((await transfer(wrong)).statusCode, 400, wrong)
  }
})

void test('a response has a request id, which a caller may choose', async (t) => {
  const { get } = await start(t)
  const ids = new Set<unknown>()
  for (let at = 0; at < 3; at++) ids.add((await get('/version')).headers['audit-id'])
  assert.equal(ids.size, 3)
  assert.equal((await get('/version', { 'audit-id': 'mine-1' })).headers['audit-id'], 'mine-1')
  const odd = await get('/version', { 'audit-id': 'a b' })
  assert.match(
    String(odd.headers['audit-id']),
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
  )
})
