/*
 * Goal: the request line is parsed as upstream's table of test cases and spec 4.1 require.
 * Method: the pure function.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { requestInfo } from '../../../../../src/server/http/request-info.ts'

type Wanted = {
  readonly verb: string
  readonly group?: string
  readonly version?: string
  readonly namespace?: string
  readonly resource: string
  readonly subresource?: string
  readonly name?: string
  readonly odd?: true
}

function check(method: string, target: string, wanted: Wanted): void {
  const { action, path, shape } = requestInfo(method, target)
  assert.deepEqual(
    { ...action, path, shape },
    {
      kind: 'resource',
      verb: wanted.verb,
      path: decodeURIComponent(target.split('?')[0] ?? ''),
      group: wanted.group ?? '',
      version: wanted.version ?? 'v1',
      resource: wanted.resource,
      subresource: wanted.subresource ?? '',
      namespace: wanted.namespace ?? '',
      name: wanted.name ?? '',
      shape: wanted.odd ? 'odd' : 'plain',
    },
    `${method} ${target}`,
  )
}

void test('subresources of the core group that connect to other servers are recognized by their path', () => {
  const connects = (method: string, target: string): boolean => requestInfo(method, target).connects
  const pod = '/api/v1/namespaces/a/pods/b'
  for (const name of ['log', 'exec', 'attach', 'portforward'])
    for (const method of ['GET', 'POST']) assert.equal(connects(method, `${pod}/${name}?x=y`), true, name)
  for (const target of [pod, `${pod}/status`, `${pod}/log/more`, `${pod}/`, '/api/v1/pods', '/log'])
    assert.equal(connects('GET', target), false, target)
  assert.equal(connects('GET', '/apis/example.io/v1/namespaces/a/pods/b/log'), false)
  assert.equal(connects('GET', '/api/v1/namespaces/a/services/b/log'), false)
})

void test('the path after a proxy subresource is the path at its target; malformed and other paths connect to nothing', () => {
  const rows: readonly (readonly [target: string, below: string | null])[] = [
    ['/api/v1/namespaces/a/pods/b/proxy', ''],
    ['/api/v1/namespaces/a/pods/b/proxy/', '/'],
    ['/api/v1/namespaces/a/pods/http:b:80/proxy/x/', '/x/'],
    ['/api/v1/namespaces/a/services/b/proxy/x//y?z=/', '/x//y'],
    ['/api/v1/nodes/b/proxy/%2e%2e/x', '/../x'],
    // Not served.
    ['/api/v1/namespaces/a/pods//proxy/x', null],
    ['/api/v1/namespaces//pods/b/proxy/x', null],
    ['/api/v1/namespaces/a/configmaps/b/proxy/x', null],
    ['/apis/example.io/v1/nodes/b/proxy/x', null],
    ['/api/v1/proxy/nodes/b/proxy/x', null],
  ]
  for (const [target, below] of rows) {
    const info = requestInfo('GET', target)
    assert.deepEqual([info.connects, info.shape], below === null ? [false, 'odd'] : [true, 'plain'], target)
    assert.equal(info.below, below ?? '', target)
    if (below !== null) assert.equal(info.action.kind === 'resource' && info.action.subresource, 'proxy')
  }
})

void test('spec 5.7: resource paths give verb, group, version, namespace, resource, name and subresource', () => {
  const other = 'other'
  const cases: readonly [string, string, Wanted][] = [
    ['GET', '/api/v1/namespaces', { verb: 'list', resource: 'namespaces' }],
    [
      'GET',
      '/api/v1/namespaces/other',
      { verb: 'get', namespace: other, resource: 'namespaces', name: other },
    ],
    ['GET', '/api/v1/namespaces/other/pods', { verb: 'list', namespace: other, resource: 'pods' }],
    [
      'GET',
      '/api/v1/namespaces/other/pods/foo',
      { verb: 'get', namespace: other, resource: 'pods', name: 'foo' },
    ],
    [
      'HEAD',
      '/api/v1/namespaces/other/pods/foo',
      { verb: 'get', namespace: other, resource: 'pods', name: 'foo' },
    ],
    ['GET', '/api/v1/pods', { verb: 'list', resource: 'pods' }],
    ['HEAD', '/api/v1/pods', { verb: 'list', resource: 'pods' }],
    ['GET', '/api/v1/nodes/n', { verb: 'get', resource: 'nodes', name: 'n' }],
    ['GET', '/api/v1/watch/pods', { verb: 'watch', resource: 'pods', odd: true }],
    [
      'GET',
      '/api/v1/watch/namespaces/other/pods',
      { verb: 'watch', namespace: other, resource: 'pods', odd: true },
    ],
    ['GET', '/api/v1/proxy/nodes/n/x/y', { verb: 'proxy', resource: 'nodes', name: 'n', odd: true }],
    [
      'GET',
      '/api/v1/namespaces/other/pods/foo/status',
      { verb: 'get', namespace: other, resource: 'pods', name: 'foo', subresource: 'status' },
    ],
    [
      'PUT',
      '/api/v1/namespaces/other/finalize',
      { verb: 'update', namespace: other, resource: 'namespaces', name: other, subresource: 'finalize' },
    ],
    [
      'PUT',
      '/api/v1/namespaces/other/status',
      { verb: 'update', namespace: other, resource: 'namespaces', name: other, subresource: 'status' },
    ],
    // A namespace may have the name of one of its own subresources.
    [
      'GET',
      '/api/v1/namespaces/status',
      { verb: 'get', namespace: 'status', resource: 'namespaces', name: 'status' },
    ],
    [
      'POST',
      '/api/v1/namespaces/other/pods/foo/exec/sh',
      { verb: 'create', namespace: other, resource: 'pods', name: 'foo', subresource: 'exec', odd: true },
    ],
    ['POST', '/api/v1/namespaces/other/pods', { verb: 'create', namespace: other, resource: 'pods' }],
    [
      'PUT',
      '/api/v1/namespaces/other/pods/foo',
      { verb: 'update', namespace: other, resource: 'pods', name: 'foo' },
    ],
    [
      'PATCH',
      '/api/v1/namespaces/other/pods/foo',
      { verb: 'patch', namespace: other, resource: 'pods', name: 'foo' },
    ],
    [
      'DELETE',
      '/api/v1/namespaces/other/pods/foo',
      { verb: 'delete', namespace: other, resource: 'pods', name: 'foo' },
    ],
    [
      'DELETE',
      '/api/v1/namespaces/other/pods',
      { verb: 'deletecollection', namespace: other, resource: 'pods' },
    ],
    ['DELETE', '/api/v1/namespaces', { verb: 'deletecollection', resource: 'namespaces' }],
    ['OPTIONS', '/api/v1/pods', { verb: '', resource: 'pods' }],
    [
      'GET',
      '/apis/apps/v1/namespaces/other/deployments/foo/scale',
      {
        verb: 'get',
        group: 'apps',
        namespace: other,
        resource: 'deployments',
        name: 'foo',
        subresource: 'scale',
      },
    ],
    [
      'GET',
      '/apis/storage.orch.io/v1beta1/storageclasses',
      { verb: 'list', group: 'storage.orch.io', version: 'v1beta1', resource: 'storageclasses' },
    ],
    ['GET', '/api/v1/namespaces/other/pods/', { verb: 'list', namespace: other, resource: 'pods' }],
    [
      'DELETE',
      '/api/v1/namespaces/mine/namespaces/other',
      { verb: 'delete', namespace: 'mine', resource: 'namespaces', name: 'other', odd: true },
    ],
    ['GET', '/api/v1/namespaces//pods', { verb: 'list', resource: 'pods', odd: true }],
    ['GET', '/api/v1//pods', { verb: 'get', resource: '', name: 'pods', odd: true }],
    // Not the core group, which is served below /api only.
    ['GET', '/apis//v1/pods', { verb: 'list', resource: 'pods', odd: true }],
    [
      'GET',
      '/apis//v1/nodes/a/proxy',
      { verb: 'get', resource: 'nodes', name: 'a', subresource: 'proxy', odd: true },
    ],
    ['GET', '/apis/apps//pods', { verb: 'list', group: 'apps', version: '', resource: 'pods', odd: true }],
    ['GET', '/api/v1/nodes/system%3Anode%3An', { verb: 'get', resource: 'nodes', name: 'system:node:n' }],
    [
      'GET',
      '/api/v1/namespaces/other%2Fpods/foo',
      { verb: 'get', namespace: other, resource: 'pods', name: 'foo' },
    ],
  ]
  for (const [method, target, wanted] of cases) check(method, target, wanted)
})

void test('spec 4.2: `watch` is true unless its value is false', () => {
  const cases = {
    'watch=1': 'watch',
    'watch=true': 'watch',
    watch: 'watch',
    'watch=': 'watch',
    'watch=0': 'list',
  }
  const more = {
    'watch=false': 'list',
    'watch=False': 'list',
    'watch=x': 'watch',
    'limit=1&watch=1': 'watch',
    '': 'list',
  }
  for (const [query, verb] of Object.entries({ ...cases, ...more })) {
    check('GET', `/api/v1/pods?${query}`, { verb, resource: 'pods' })
  }
  check('GET', '/api/v1/nodes/n?watch=1', { verb: 'get', resource: 'nodes', name: 'n' })
  check('GET', '/api/v1/nodes/n?watch=0', { verb: 'get', resource: 'nodes', name: 'n' })
  check('GET', '/api/v1/nodes/n/status?watch=1', {
    ...{ verb: 'get', resource: 'nodes', name: 'n', subresource: 'status' },
  })
  check('DELETE', '/api/v1/pods?watch=1', { verb: 'deletecollection', resource: 'pods' })
})

void test('a collection narrowed to one name counts as that name for authorization', () => {
  const selected = {
    'metadata.name%3Dfoo': 'foo',
    'metadata.name%3D%3Dfoo': 'foo',
    'spec.x%3Dy,metadata.name%3Dfoo': 'foo',
    'metadata.name!%3Dfoo': '',
    'metadata.name%3D..': '',
    'metadata.name%3Da%252Fb': '',
    'metadata.namespace%3Dfoo': '',
    '+metadata.name+%3D+foo+': 'foo',
    'metadata.name%3D%3D%3Dfoo': '',
    'metadata.name%3Dfoo!': '',
    'metadata.name%3D': '',
    'xmetadata.name%3Dfoo': '',
  }
  for (const [selector, name] of Object.entries(selected)) {
    check('GET', `/api/v1/pods?fieldSelector=${selector}`, { verb: 'list', resource: 'pods', name })
  }
  check('GET', '/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dfoo', {
    verb: 'watch',
    resource: 'pods',
    name: 'foo',
  })
})

void test('a selector whose value is 30,000 blanks selects no name', () => {
  // Any client may send this, as it is parsed before authentication: the scan must be linear.
  const blanks = '+'.repeat(30_000)
  check('GET', `/api/v1/pods?fieldSelector=metadata.name%3D${blanks}%3D`, { verb: 'list', resource: 'pods' })
})

void test('spec 5.7: a path outside the resources has the method in lower case as its verb', () => {
  for (const path of [
    '/',
    '/api',
    '/api/',
    '/api/v1',
    '/api/v1/',
    '/apis',
    '/apis/apps',
    '/apis/apps/v1',
    '/healthz/x',
  ]) {
    const { action } = requestInfo('GET', path)
    assert.deepEqual(action, { kind: 'path', verb: 'get', path })
  }
  assert.deepEqual(requestInfo('POST', '/a%20b?c').action, { kind: 'path', verb: 'post', path: '/a b' })
})

void test('invalid percent-encoding, and an old prefix without a resource, are rejected with BadRequest', () => {
  for (const target of ['/api/v1/pods/%zz', '/api/v1/pods/%ff', '/api/v1/pods?a=%', '/api/v1/watch']) {
    assert.throws(
      () => requestInfo('GET', target),
      (error) => error instanceof ApiError && error.code === 'BadRequest',
      target,
    )
  }
})
