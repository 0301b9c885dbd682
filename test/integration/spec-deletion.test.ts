/*
 * Goal: deletion and dry runs as in parts 3.1 and 4.9 of the specification, and what is refused.
 * Method: tables of requests over HTTP on the shipped server, verbs and machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { NOBODY } from '../../fixtures/server-fixture.ts'
import { SpecServer, namesIn, objectOf } from '../support/fixtures/spec-server.ts'
import type { Asking, Doc, Reply } from '../support/fixtures/spec-server.ts'

const CM = '/api/v1/namespaces/default/configmaps'
const PODS = '/api/v1/namespaces/default/pods'
const MERGE = 'application/merge-patch+json'

async function withObject(t: TestContext, metadata: object = {}): Promise<SpecServer> {
  const api = await SpecServer.start(t)
  const made = await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a', { metadata }) })
  assert.equal(made.status, 201, made.text)
  return api
}

function options(more: object): Asking {
  return { body: { kind: 'DeleteOptions', apiVersion: 'v1', ...more } }
}

function detailsOf({ doc }: Reply): Doc {
  return (doc['details'] ?? {}) as Doc
}

function gone(reply: Reply): boolean {
  return reply.status === 404 && reply.doc.reason === 'NotFound'
}

void test('spec 3.1: finalizers keep a deleted object until all are removed, in any order', async (t) => {
  const finalizers = ['x.io/a', 'x.io/b', 'x.io/c']
  const api = await withObject(t, { finalizers })
  const marked = await api.ask('DELETE', `${CM}/a`)
  assert.deepEqual([marked.status, marked.doc.kind], [202, 'ConfigMap'])
  const { deletionTimestamp } = marked.doc.metadata ?? {}
  assert.match(deletionTimestamp ?? '', /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const rows: readonly (readonly [readonly string[] | null, number, string])[] = [
    [['x.io/c', 'x.io/a', 'x.io/b'], 200, 'reordered'],
    [['x.io/c', 'x.io/a', 'x.io/b', 'x.io/d'], 422, 'no new ones'],
    [['x.io/c', 'x.io/a'], 200, 'one removed'],
    [['x.io/c'], 200, 'another'],
    [null, 200, 'the last'],
  ]
  for (const [wanted, status, words] of rows) {
    const body = { metadata: { finalizers: wanted } }
    const reply = await api.ask('PATCH', `${CM}/a`, { body, type: MERGE })
    assert.equal(reply.status, status, `${words}: ${reply.text}`)
    if (status !== 200) continue
    assert.equal(reply.doc.metadata?.deletionTimestamp, deletionTimestamp, words)
    assert.equal(gone(await api.ask('GET', `${CM}/a`)), wanted === null, words)
  }
})

void test('spec 3.1: without finalizers the object is removed at once, with options and without', async (t) => {
  const rows: readonly (readonly [string, Asking])[] = [
    ['', {}],
    ['', options({})],
    ['?gracePeriodSeconds=0', {}],
    ['?gracePeriodSeconds=-1', {}],
    ['', options({ gracePeriodSeconds: -3 })],
    ['?propagationPolicy=Background', {}],
    ['', options({ orphanDependents: false })],
    // The body counts if there is one.
    ['?propagationPolicy=Sideways&gracePeriodSeconds=soon', options({})],
  ]
  for (const [query, asking] of rows) {
    const api = await withObject(t)
    const reply = await api.ask('DELETE', `${CM}/a${query}`, asking)
    assert.deepEqual([reply.status, reply.doc.kind, reply.doc.status], [200, 'Status', 'Success'], query)
    assert.equal((detailsOf(reply) as { name?: string }).name, 'a')
    assert.ok(gone(await api.ask('GET', `${CM}/a`)))
  }
})

void test('spec 3.1: preconditions that do not hold are 409, and the object stays', async (t) => {
  const api = await withObject(t)
  const { doc } = await api.ask('GET', `${CM}/a`)
  const { uid, resourceVersion } = doc.metadata ?? {}
  const uidWords = `Precondition failed: UID in precondition: other, UID in object meta: ${uid}`
  const versionWords =
    'Precondition failed: ResourceVersion in precondition: 1, ' +
    `ResourceVersion in object meta: ${resourceVersion}`
  const rows: readonly (readonly [object, string])[] = [
    [{ uid: 'other' }, uidWords],
    [{ resourceVersion: '1' }, versionWords],
    [{ uid: 'other', resourceVersion }, uidWords],
    [{ uid, resourceVersion: '1' }, versionWords],
  ]
  for (const [preconditions, words] of rows) {
    for (const dryRun of [undefined, ['All']]) {
      const reply = await api.ask('DELETE', `${CM}/a`, options({ preconditions, dryRun }))
      assert.deepEqual([reply.status, reply.doc.reason], [409, 'Conflict'], JSON.stringify(preconditions))
      const whole = `Operation cannot be fulfilled on configmaps "a": ${words}`
      assert.equal(reply.doc.message, whole)
      assert.deepEqual(detailsOf(reply), { name: 'a', kind: 'configmaps' })
    }
  }
  assert.deepEqual((await api.ask('GET', `${CM}/a`)).doc, doc)
  const held = await api.ask('DELETE', `${CM}/a`, options({ preconditions: { uid, resourceVersion } }))
  assert.equal(held.status, 200)
})

void test('spec 3.1: invalid delete options are refused, and the object stays', async (t) => {
  const api = await withObject(t)
  const { doc } = await api.ask('GET', `${CM}/a`)
  const policy = (given: string): RegExp =>
    new RegExp(
      '^DeleteOptions\\.meta\\.orch\\.io "" is invalid: propagationPolicy: Unsupported value: ' +
        `"${given}": supported values: "Foreground", "Background", "Orphan", "nil"$`,
    )
  const dryRun = /dryRun: Unsupported value: \[\]string\{"Some"\}: supported values: "All"$/
  const both =
    /propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set$/
  const rows: readonly (readonly [string, Asking, number, RegExp])[] = [
    ['?propagationPolicy=Sideways', {}, 422, policy('Sideways')],
    ['?propagationPolicy=', {}, 422, policy('')],
    ['', options({ propagationPolicy: 'Sideways' }), 422, policy('Sideways')],
    ['', options({ propagationPolicy: '' }), 422, policy('')],
    ['', options({ propagationPolicy: 'Orphan', orphanDependents: true }), 422, both],
    ['?propagationPolicy=Orphan&orphanDependents=false', {}, 422, both],
    ['?gracePeriodSeconds=soon', {}, 400, /soon/],
    ['', options({ gracePeriodSeconds: '30' }), 400, /gracePeriodSeconds/],
    ['', options({ gracePeriodSeconds: 1.5 }), 400, /gracePeriodSeconds/],
    ['', options({ preconditions: 'x' }), 400, /preconditions/],
    ['', options({ dryRun: ['Some'] }), 422, dryRun],
    ['?dryRun=Some', {}, 422, dryRun],
    ['?dryRun=Some', options({}), 422, dryRun],
    ['?dryRun=Some&propagationPolicy=x', {}, 422, /is invalid: \[propagationPolicy: .*, dryRun: .*\]$/],
    [
      '',
      { body: { kind: 'ConfigMap', apiVersion: 'v1' } },
      400,
      /"ConfigMap" cannot be handled as DeleteOptions/,
    ],
    ['', { body: { kind: 'DeleteOptions', apiVersion: 'v2' } }, 400, /version "v2"/],
    ['', { body: '{', type: 'application/json' }, 400, /./],
    ['', { body: '{}', type: 'text/plain' }, 415, /media type/],
  ]
  for (const at of [`${CM}/a`, CM]) {
    for (const [query, asking, status, words] of rows) {
      const reply = await api.ask('DELETE', at + query, asking)
      assert.equal(reply.status, status, `${at}${query} ${JSON.stringify(asking.body)}: ${reply.text}`)
      assert.match(reply.doc.message ?? '', words, `${at}${query} ${JSON.stringify(asking.body)}`)
    }
  }
  assert.deepEqual((await api.ask('GET', `${CM}/a`)).doc, doc)
})

void test('spec 3.1: invalid owner references are refused by create, update and patch', async (t) => {
  const api = await withObject(t)
  const right = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
  const field = 'metadata.ownerReferences'
  const rows: readonly (readonly [readonly object[], readonly string[], RegExp])[] = [
    [[{ ...right, uid: '' }], [`${field}.uid`], /uid must not be empty/],
    [[{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o' }], [`${field}.uid`], /uid must not be empty/],
    [[{ ...right, name: '' }], [`${field}.name`], /name must not be empty/],
    [[{ ...right, kind: '' }], [`${field}.kind`], /kind must not be empty/],
    [[{ ...right, apiVersion: '' }], [`${field}.apiVersion`], /version must not be empty/],
    [
      [{}],
      ['apiVersion', 'kind', 'name', 'uid'].map((member) => `${field}.${member}`),
      /kind must not be empty/,
    ],
    [[{ ...right, kind: 'Event' }], [field], /v1, Kind=Event is disallowed from being an owner/],
    [
      [
        { ...right, controller: true },
        { ...right, name: 'p', uid: 'v', controller: true },
      ],
      [field],
      /Only one reference can have Controller set to true\. Found "true" in references for o and p/,
    ],
  ]
  for (const [ownerReferences, fields, words] of rows) {
    const metadata = { ownerReferences }
    const replies = [
      await api.ask('POST', CM, { body: objectOf('ConfigMap', 'b', { metadata }) }),
      await api.ask('PUT', `${CM}/a`, { body: objectOf('ConfigMap', 'a', { metadata }) }),
      await api.ask('PATCH', `${CM}/a`, { body: { metadata }, type: MERGE }),
    ]
    for (const reply of replies) {
      assert.deepEqual([reply.status, reply.doc.reason], [422, 'Invalid'], reply.text)
      const { causes } = detailsOf(reply) as { causes?: readonly { reason: string; field: string }[] }
      assert.deepEqual(
        causes?.map((cause) => cause.field),
        fields,
      )
      assert.ok(causes.every(({ reason }) => reason === 'FieldValueInvalid'))
      assert.match(reply.doc.message ?? '', words)
    }
  }
  assert.equal((await api.ask('GET', `${CM}/a`)).doc.metadata?.['ownerReferences' as 'uid'], undefined)
  assert.deepEqual(namesIn((await api.ask('GET', CM)).doc), ['a'])
})

void test('spec 3.1: a deletion or a deletion of a collection without permission is 403 and deletes nothing', async (t) => {
  const api = await withObject(t)
  for (const [path, verb] of [
    [`${CM}/a`, 'delete'],
    [CM, 'deletecollection'],
    [`${CM}?labelSelector=x`, 'deletecollection'],
    [`${CM}?dryRun=All`, 'deletecollection'],
  ] as const) {
    const reply = await api.ask('DELETE', path, { headers: NOBODY })
    assert.deepEqual([reply.status, reply.doc.reason], [403, 'Forbidden'])
    const words = `User "nobody" cannot ${verb} resource "configmaps" in API group "" in the namespace "default"`
    assert.ok(reply.doc.message?.endsWith(words), reply.doc.message)
  }
  assert.equal((await api.ask('GET', `${CM}/a`)).status, 200)
})

type Ending = readonly [status: number, graceSeconds: unknown]

void test('spec 3.1: a Pod on a node is marked with its grace period, which later deletions only shorten', async (t) => {
  const api = await SpecServer.start(t)
  const containers = [{ name: 'c', image: 'i' }]
  const make = async (name: string, spec: object): Promise<void> => {
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, ...spec } }
    assert.equal((await api.ask('POST', PODS, { body })).status, 201)
  }
  const running = { nodeName: 'n1', terminationGracePeriodSeconds: 40 }
  await make('p', running)
  const steps: readonly (readonly [string, Asking, Ending])[] = [
    ['?dryRun=All', {}, [202, 40]],
    ['', {}, [202, 40]],
    ['', options({ gracePeriodSeconds: 60 }), [202, 40]],
    ['?gracePeriodSeconds=20', {}, [202, 20]],
    ['', {}, [202, 20]],
    ['', options({ gracePeriodSeconds: -1 }), [202, 1]],
    ['?gracePeriodSeconds=0&dryRun=All', {}, [200, undefined]],
    ['?gracePeriodSeconds=0', {}, [200, undefined]],
    ['', {}, [404, undefined]],
  ]
  for (const [query, asking, [status, seconds]] of steps) {
    const reply = await api.ask('DELETE', `${PODS}/p${query}`, asking)
    assert.equal(reply.status, status, `${query}: ${reply.text}`)
    if (status !== 202) continue
    const { deletionTimestamp, deletionGracePeriodSeconds } = reply.doc.metadata as {
      readonly deletionTimestamp?: string
      readonly deletionGracePeriodSeconds?: number
    }
    assert.equal(deletionGracePeriodSeconds, seconds, query)
    assert.ok(deletionTimestamp !== undefined)
  }
  // Neither field can be written, and a Pod without a node needs no grace period.
  await make('q', running)
  await api.ask('DELETE', `${PODS}/q`)
  for (const metadata of [{ deletionTimestamp: null }, { deletionGracePeriodSeconds: 5 }]) {
    const reply = await api.ask('PATCH', `${PODS}/q`, { body: { metadata }, type: MERGE })
    const { doc } = await api.ask('GET', `${PODS}/q`)
    assert.ok(doc.metadata?.deletionTimestamp !== undefined, `${reply.status}`)
    assert.equal(doc.metadata['deletionGracePeriodSeconds' as 'uid'], 40)
  }
  await make('r', {})
  assert.equal((await api.ask('DELETE', `${PODS}/r`)).status, 200)
  // What `kubectl delete pod --force --now` sends.
  await make('s', running)
  const forced = options({ gracePeriodSeconds: 0, propagationPolicy: 'Background' })
  assert.equal((await api.ask('DELETE', `${PODS}/s`, forced)).status, 200)
  assert.deepEqual(namesIn((await api.ask('GET', PODS)).doc), ['q'])
})

void test('spec 3.1: policies for dependents keep the object by a finalizer until they are carried out', async (t) => {
  const rows: readonly (readonly [string, Asking, string])[] = [
    ['?propagationPolicy=Foreground', {}, 'foregroundDeletion'],
    ['', options({ propagationPolicy: 'Foreground' }), 'foregroundDeletion'],
    ['?propagationPolicy=Orphan', {}, 'orphan'],
    ['?orphanDependents=true', {}, 'orphan'],
    ['', options({ orphanDependents: true }), 'orphan'],
  ]
  for (const [query, asking, finalizer] of rows) {
    const api = await withObject(t)
    const reply = await api.ask('DELETE', `${CM}/a${query}`, asking)
    assert.deepEqual([reply.status, reply.doc.metadata?.finalizers], [202, [finalizer]], reply.text)
    const body = { metadata: { finalizers: null } }
    assert.equal((await api.ask('PATCH', `${CM}/a`, { body, type: MERGE })).status, 200)
    assert.ok(gone(await api.ask('GET', `${CM}/a`)))
  }
})

void test('spec 4.9: a dry deletion, of an object or a collection, answers as the real one and deletes nothing', async (t) => {
  const rows: readonly (readonly [string, Asking, number, string])[] = [
    [`${CM}/a`, {}, 200, 'Status'],
    [`${CM}/a`, options({ propagationPolicy: 'Foreground' }), 202, 'ConfigMap'],
    [`${CM}/a`, options({ preconditions: { uid: 'x' } }), 409, 'Status'],
    [`${CM}/held`, {}, 202, 'ConfigMap'],
    [`${CM}/none`, {}, 404, 'Status'],
    [CM, {}, 200, 'Status'],
    [`${CM}?labelSelector=x%3Dy`, options({}), 200, 'Status'],
    ['/api/v1/namespaces/default', {}, 403, 'Status'],
  ]
  for (const [path, asking, status, kind] of rows) {
    const api = await withObject(t)
    const held = objectOf('ConfigMap', 'held', { metadata: { finalizers: ['x.io/a'] } })
    await api.ask('POST', CM, { body: held })
    const before = (await api.ask('GET', CM)).doc
    const dry = path + (path.includes('?') ? '&' : '?') + 'dryRun=All'
    const inBody: Asking = { body: { ...(asking.body as object | undefined), dryRun: ['All'] } }
    const replies = [await api.ask('DELETE', dry, asking), await api.ask('DELETE', path, inBody)]
    assert.deepEqual((await api.ask('GET', CM)).doc, before, 'nothing changed')
    replies.push(await api.ask('DELETE', path, asking))
    for (const reply of replies) assert.deepEqual([reply.status, reply.doc.kind], [status, kind], reply.text)
  }
})
