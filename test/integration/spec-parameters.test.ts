/**
 * Goal: an invalid parameter of a read is refused with its name and value, and oversized values are
 * answered or refused.
 * Method: tables of values over HTTP, on the shipped server, verbs and machine; where the
 * specification is silent, values count as in upstream's conversion of parameters.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SpecServer, namesIn, objectOf } from '../support/fixtures/spec-server.ts'
import { admin, ask2, session, start } from '../support/fixtures/tls-server.ts'

const CM = '/api/v1/namespaces/default/configmaps'

async function withObjects(t: TestContext, count: number): Promise<SpecServer> {
  const api = await SpecServer.start(t)
  await addObjects(api, count)
  return api
}

/** `o0` and so on, each with its number as label `at`. */
async function addObjects(api: SpecServer, count: number): Promise<void> {
  const add = async (at: number): Promise<void> => {
    const body = objectOf('ConfigMap', `o${at}`, { metadata: { labels: { of: 'test', at: String(at) } } })
    assert.equal((await api.ask('POST', CM, { body })).status, 201)
  }
  await Promise.all(Array.from({ length: count }, (_, at) => add(at)))
}

const query = (parameters: Readonly<Record<string, string>>): string =>
  new URLSearchParams(parameters).toString()

const notNumbers = [
  '',
  'x',
  '1.5',
  '1e3',
  '0x1',
  ' 1',
  '1 ',
  '--1',
  '١',
  '9223372036854775808',
  '1'.repeat(5000),
]
const notVersions = ['x', '-1', '+1', '1.5', '1e3', ' 1', '0x1', '9007199254740992', '1'.repeat(5000)]
const notLabels = [
  ...['=', ',', '()', 'a,', ',a', 'a=b=c', 'a b', '!', '!a=b', 'a!b', 'a in b', 'a in (b', 'a in b)', 'a>x'],
  ...['-a=b', 'a=b_', 'a/b/c', '(a+)+$', '.*', 'a in (((((', 'a=>b', '=b', 'é=b'],
  `a=${'b'.repeat(64)}`,
  'a'.repeat(10_000),
  'a,'.repeat(4_000),
]
const notFields = [
  ...['metadata.name', 'spec.x=1', 'data.k=v', '=', 'metadata.name=a=b', 'metadata.name=\\x', '!=', 'a'],
  ...['metadata.names=a', '^metadata', 'metadata.name=a,b', '__proto__=a', 'metadata.name '.repeat(500)],
  'metadata.name=a,'.repeat(1_000),
]
const notMatches = ['exact', 'Newest', 'NotOlderThan ', '0', 'Exact,NotOlderThan']
const notTokens = [
  'nothing',
  '.',
  'A',
  '====',
  'A'.repeat(100),
  'A'.repeat(10_000),
  '\u0000',
  '%',
  'eyJydiI6MX0',
]

/** The parameters that each verb reads, with values that are invalid for them. */
const malformed: readonly (readonly [verb: string, name: string, values: readonly string[]])[] = [
  ['list', 'limit', notNumbers],
  ['watch', 'limit', notNumbers],
  ['list', 'timeoutSeconds', notNumbers],
  ['watch', 'timeoutSeconds', notNumbers],
  ['list', 'resourceVersion', notVersions],
  ['watch', 'resourceVersion', notVersions],
  ['get', 'resourceVersion', notVersions],
  ['list', 'resourceVersionMatch', notMatches],
  ['watch', 'resourceVersionMatch', notMatches],
  ['list', 'labelSelector', notLabels],
  ['watch', 'labelSelector', notLabels],
  ['list', 'fieldSelector', notFields],
  ['watch', 'fieldSelector', notFields],
  ['list', 'continue', notTokens],
  ['delete', 'limit', notNumbers],
  ['delete', 'timeoutSeconds', notNumbers],
  ['delete', 'resourceVersion', notVersions],
  ['delete', 'resourceVersionMatch', notMatches],
  ['delete', 'labelSelector', notLabels],
  ['delete', 'fieldSelector', notFields],
  ['delete', 'continue', notTokens],
]

void test('spec 7: an invalid value of a parameter is 400, with the name and the value', async (t) => {
  const api = await withObjects(t, 2)
  let cells = 0
  for (const [verb, name, values] of malformed) {
    const method = verb === 'delete' ? 'DELETE' : 'GET'
    const path = verb === 'get' ? `${CM}/o1` : CM
    const begin: Record<string, string> = verb === 'watch' ? { watch: '1' } : {}
    for (const value of values) {
      const { status, doc } = await api.ask(method, `${path}?${query({ ...begin, [name]: value })}`)
      const given = `${verb} ${name}=${value.slice(0, 40)}: ${doc.message ?? ''}`
      assert.deepEqual([status, doc.kind, doc.reason, doc.code], [400, 'Status', 'BadRequest', 400], given)
      const message = doc.message ?? ''
      assert.ok(message.startsWith(`${name}: `), given)
      // Long values are truncated, in the quoted value and in the rest of the message.
      assert.ok(message.includes(JSON.stringify(value.slice(0, 100)).slice(0, -1)), given)
      assert.ok(message.length < 2000, given)
      cells++
    }
  }
  assert.ok(cells > 150, `${cells}`)
  const left = await api.ask('GET', `${CM}?labelSelector=of%3Dtest`)
  assert.deepEqual(namesIn(left.doc), ['o0', 'o1'], 'a deletion that was refused deleted nothing')
})

void test('spec 4.2: values that upstream accepts are accepted, and mean the same', async (t) => {
  const api = await withObjects(t, 3)
  const all = ['o0', 'o1', 'o2']
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['limit=-1', all],
    ['limit=0', all],
    ['limit=%2B2', ['o0', 'o1']],
    ['limit=002', ['o0', 'o1']],
    ['limit=1000000', all],
    ['limit=9223372036854775807', all],
    ['limit=-9223372036854775808', all],
    ['limit=1&limit=x', ['o0']],
    ['timeoutSeconds=-5', all],
    ['timeoutSeconds=9223372036854775807', all],
    ['resourceVersion=', all],
    ['resourceVersion=00', all],
    ['resourceVersionMatch=', all],
    ['continue=', all],
    ['fieldSelector=', all],
    ['fieldSelector=,', all],
    ['allowWatchBookmarks=maybe', all],
    ['watch=0', all],
    ['watch=false', all],
    ['watch=FALSE', all],
    ['unknown=1', all],
  ]
  for (const [words, wanted] of lists) {
    const { status, doc } = await api.ask('GET', `${CM}?labelSelector=of%3Dtest&${words}`)
    assert.deepEqual([status, namesIn(doc)], [200, wanted], words)
  }
  const end = 'labelSelector=of%3Dtest&timeoutSeconds=1'
  const marked: readonly (readonly [string, boolean])[] = [
    ['watch=foo&allowWatchBookmarks=foo', true],
    ['watch&allowWatchBookmarks', true],
    ['watch=&allowWatchBookmarks=', true],
    ['watch=TRUE&allowWatchBookmarks=False', false],
    ['watch=no&allowWatchBookmarks=0', false],
    ['watch=1&limit=1&timeoutSeconds=9', false],
  ]
  await Promise.all(
    marked.map(async ([words, bookmark]) => {
      const watch = await api.watch(`${CM}?${end}&${words}`)
      const types = (await watch.take(9)).map(({ type }) => type)
      const wanted = ['ADDED', 'ADDED', 'ADDED', ...(bookmark ? ['BOOKMARK'] : [])]
      assert.deepEqual(types, wanted, words)
    }),
  )
})

void test('spec 7: a continue token is good for its own list of its own cluster only', async (t) => {
  const [api, other] = [await withObjects(t, 4), await withObjects(t, 4)]
  const selected = 'labelSelector=of%3Dtest'
  const first = await api.ask('GET', `${CM}?${selected}&limit=2`)
  const token = encodeURIComponent(first.doc.metadata?.continue ?? '')
  const rest = await api.ask('GET', `${CM}?${selected}&limit=2&continue=${token}`)
  assert.deepEqual(namesIn(rest.doc), ['o2', 'o3'])
  const elsewhere: readonly (readonly [SpecServer, string])[] = [
    [other, `${CM}?${selected}`],
    [api, '/api/v1/configmaps?labelSelector=of%3Dtest'],
    [api, `/api/v1/configmaps?${selected}&fieldSelector=metadata.namespace%3Ddefault`],
    [api, `/api/v1/namespaces/other/configmaps?${selected}`],
    [api, `/api/v1/namespaces/default/secrets?${selected}`],
    [api, `/api/v1/namespaces?${selected}`],
    [api, `${CM}?x=y`],
    [api, `${CM}?labelSelector=of%3Dtest2`],
    [api, `${CM}?labelSelector=of`],
    [api, `${CM}?fieldSelector=of%3Dtest`],
    [api, `${CM}?${selected}&fieldSelector=metadata.name!%3Do3`],
  ]
  for (const [server, path] of elsewhere) {
    const { status, doc } = await server.ask('GET', `${path}&limit=2&continue=${token}`)
    assert.deepEqual([status, doc.reason], [400, 'BadRequest'], path)
    const why = path.includes('fieldSelector=of')
      ? /^fieldSelector: /
      : /^continue: .*continue key is not valid/
    assert.match(doc.message ?? '', why, path)
  }
})

void test('oversized selectors are answered or refused, and other requests are served', async (t) => {
  const api = await withObjects(t, 40)
  const same = Array.from({ length: 256 }, () => 'of=test').join(',')
  const many = `at in (${Array.from({ length: 1500 }, (_, at) => String(at)).join(',')})`
  const nested = `of in (${'test,'.repeat(2000)}test)`
  for (const labelSelector of [same, many, nested, ` ${'\t'.repeat(9000)} of`]) {
    const { status, doc } = await api.ask('GET', `${CM}?${query({ labelSelector, limit: '1000000' })}`)
    assert.deepEqual([status, namesIn(doc).length], [200, 40], labelSelector.slice(0, 40))
  }
  const names = Array.from({ length: 200 }, (_, at) => `metadata.name!=x${at}`).join(',')
  const spaced = `metadata.name=${' '.repeat(8000)}=`
  const fields: readonly (readonly [string, number])[] = [
    [names, 200],
    [spaced, 400],
    ['\\'.repeat(8000), 400],
    [`metadata.name=${'\\,'.repeat(5000)}`, 200],
  ]
  for (const [fieldSelector, wanted] of fields) {
    const { status } = await api.ask('GET', `${CM}?${query({ fieldSelector })}`)
    assert.equal(status, wanted, fieldSelector.slice(0, 40))
  }
  const requirements = Array.from({ length: 10_000 }, (_, at) => `k${at}`).join(',')
  for (const labelSelector of ['x'.repeat(100_000), requirements]) {
    const response = await api.ask('GET', `${CM}?${query({ labelSelector })}`)
    assert.equal(response.status, 431, 'more than a request line may have')
  }
  assert.equal((await api.ask('GET', `${CM}/o1`)).status, 200, 'and others are served')
})

void test('over HTTP/2 a selector of 100 KB is refused, and others are served', async (t) => {
  const { fake, url } = await start(t)
  const client = await session(t, url, admin)
  const huge = ask2(client, { ':path': `${CM}?labelSelector=${'x'.repeat(100_000)}` })
  const status = await huge.then(
    (reply) => reply.status,
    () => 'no answer',
  )
  assert.notEqual(status, 200)
  assert.equal(fake.calls.length, 0, 'no verb was called')
  const next = await session(t, url, admin)
  assert.equal((await ask2(next, { ':path': '/version' })).status, 200)
})
