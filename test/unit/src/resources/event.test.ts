/*
 * Goal: events behave as upstream's: two groups share one store, with the rules of each, selectors
 * and tables.
 * Method: the shipped verbs on the state machine in memory, in both domains; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { storageVersionHash } from '../../../../src/server/discovery/storage-version-hash.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

type Kinds = {
  readonly api: Fixture
  /** The kind in the core group. */
  readonly core: string
  /** The kind in the events group. */
  readonly v1: string
  readonly beta: string
}

async function start(t: TestContext, domain: ApiDomain = 'orch.io'): Promise<Kinds> {
  const api = await Fixture.open({ domain })
  t.after(() => api.close())
  const group = api.names.group('events')
  return { api, core: 'v1/Event', v1: `${group}/v1/Event`, beta: `${group}/v1beta1/Event` }
}

const metadata = { name: 'e' }
const involvedObject = {
  kind: 'Pod',
  namespace: 'default',
  name: 'p',
  uid: 'u',
  fieldPath: 'spec.containers{c}',
}
const older = {
  ...{ metadata, involvedObject, type: 'Warning', reason: 'BackOff', message: ' it failed \n', count: 4 },
  source: { component: 'kubelet', host: 'node-1' },
  ...{ firstTimestamp: '2026-01-02T03:00:00Z', lastTimestamp: '2026-01-02T03:04:00Z' },
}
const newer = {
  ...{ metadata, regarding: involvedObject, type: 'Normal', reason: 'Pulled', note: 'it is here' },
  ...{ eventTime: '2026-01-02T03:04:00.123456Z', action: 'Pulling' },
  ...{ reportingController: 'example.com/kubelet', reportingInstance: 'node-1' },
}
/** The same event in the core form. */
const newerInCore = {
  ...{ metadata, involvedObject, type: 'Normal', reason: 'Pulled', message: 'it is here' },
  ...{ eventTime: '2026-01-02T03:04:00.123456Z', action: 'Pulling' },
  ...{ reportingComponent: 'example.com/kubelet', reportingInstance: 'node-1' },
}

function shape(object: JsonObject): JsonObject {
  const { apiVersion, kind, metadata: its, ...rest } = object
  assert.ok(its !== undefined && kind === 'Event' && typeof apiVersion === 'string')
  return rest
}

function withoutMetadata(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== 'metadata'))
}

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`an event of either group is readable in the other with that group's field names, ${domain}`, async (t) => {
    const { api, core, v1, beta } = await start(t, domain)
    const given = withoutMetadata(older)
    const made = await api.create({ kind: core, body: older })
    assert.deepEqual(shape(made.object), {
      ...given,
      ...{ eventTime: null, reportingComponent: '', reportingInstance: '' },
    })
    for (const kind of [v1, beta]) {
      const { object } = await api.get({ kind, name: 'e' })
      assert.equal(object.apiVersion, kind.replace('/Event', ''))
      assert.deepEqual(object.metadata, made.object.metadata)
      assert.deepEqual(shape(object), {
        ...{ regarding: involvedObject, type: 'Warning', reason: 'BackOff', note: ' it failed \n' },
        ...{ deprecatedCount: 4, deprecatedSource: older.source, eventTime: null },
        deprecatedFirstTimestamp: older.firstTimestamp,
        deprecatedLastTimestamp: older.lastTimestamp,
      })
    }
    await api.create({ kind: v1, body: { ...newer, metadata: { name: 'f' } } })
    const { object } = await api.get({ kind: core, name: 'f' })
    const never = { firstTimestamp: null, lastTimestamp: null }
    assert.deepEqual(shape(object), { ...withoutMetadata(newerInCore), ...never, source: {} })
    const neverInGroup = { deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null }
    const inGroup = { ...withoutMetadata(newer), ...neverInGroup, deprecatedSource: {} }
    assert.deepEqual(shape((await api.get({ kind: v1, name: 'f' })).object), inGroup)

    const merge = { kind: v1, name: 'f', body: { series: { count: 2, lastObservedTime: newer.eventTime } } }
    await api.patch(merge)
    const { object: seen } = await api.get({ kind: core, name: 'f' })
    assert.deepEqual(seen['series'], merge.body.series)
    const gone = await api.delete({ kind: core, name: 'f' })
    assert.deepEqual([gone.code, gone.object.kind], [200, 'Status'])
    assert.equal((await refused(api.get({ kind: v1, name: 'f' }))).code, 404)
  })

  void test(`an event of a cluster-scoped object is in default, or with eventTime in the system namespace, and any other is in the namespace of its object, ${domain}`, async (t) => {
    const { api, core, v1 } = await start(t, domain)
    const { systemNamespace } = api.names
    const node = { kind: 'Node', name: 'n' }
    const places: readonly (readonly [
      kind: string,
      body: JsonObject,
      namespace: string,
      isTaken: boolean,
    ])[] = [
      [core, { involvedObject: node }, 'default', true],
      [core, { involvedObject: node }, systemNamespace, false],
      [core, { involvedObject: { ...node, namespace: systemNamespace } }, systemNamespace, true],
      [core, { involvedObject: { ...node, namespace: systemNamespace } }, 'default', false],
      [v1, { ...newer, regarding: node }, 'default', true],
      [v1, { ...newer, regarding: node }, systemNamespace, true],
      [v1, { ...newer, regarding: node }, api.names.publicNamespace, false],
    ]
    for (const [at, [kind, body, namespace, isTaken]] of places.entries()) {
      const call = { kind, namespace, body: { ...body, metadata: { name: `e${at}` } } }
      if (isTaken) {
        assert.equal((await api.create(call)).code, 201, String(at))
        continue
      }
      const seen = await refused(api.create(call))
      assert.deepEqual(causes(seen), ['FieldValueInvalid involvedObject.namespace'], String(at))
      assert.match(seen.message, /does not match event\.namespace/)
    }
  })
}

void test('an event of the core group with eventTime follows the newer rules', async (t) => {
  const { api, core } = await start(t)
  const long = 'x'.repeat(129)
  await refusesNew(api, { kind: core, body: newerInCore }, [
    [
      { reportingComponent: null },
      ['FieldValueRequired reportingComponent', ...emptyName('reportingComponent')],
    ],
    [{ reportingComponent: 'a b' }, ['FieldValueInvalid reportingComponent'], 'name part'],
    [{ reportingInstance: '' }, ['FieldValueRequired reportingInstance']],
    [{ reportingInstance: long }, ['FieldValueInvalid reportingInstance'], 'at most 128 characters'],
    [{ action: null }, ['FieldValueRequired action']],
    [{ action: long }, ['FieldValueInvalid action'], 'at most 128 characters'],
    [{ reason: null }, ['FieldValueRequired reason']],
    [{ reason: 'é'.repeat(65) }, ['FieldValueInvalid reason'], 'at most 128 characters'],
    [{ message: 'x'.repeat(1025) }, ['FieldValueInvalid message'], 'at most 1024 characters'],
  ])
  // Without eventTime, these fields are not validated, as in older releases.
  const free = {
    ...newerInCore,
    eventTime: null,
    reportingComponent: '',
    action: long,
    type: 'Odd',
    reason: '',
  }
  assert.equal((await api.create({ kind: core, body: free })).code, 201)
  await api.patch({ kind: core, name: 'e', body: { reason: 'Other', involvedObject: { name: 'q' } } })
})

/** An empty text violates two rules for names. */
function emptyName(field: string): readonly string[] {
  return [`FieldValueInvalid ${field}`, `FieldValueInvalid ${field}`]
}

void test('a new event of the events group is complete, and has no deprecated fields', async (t) => {
  const { api, v1, beta } = await start(t)
  await refusesNew(api, { kind: v1, body: newer }, [
    [{ metadata: { name: 'A' } }, ['FieldValueInvalid metadata.name'], 'subdomain'],
    [{ eventTime: null }, ['FieldValueRequired eventTime']],
    [
      { reportingController: null },
      ['FieldValueRequired reportingController', ...emptyName('reportingController')],
    ],
    [{ type: 'Odd' }, ['FieldValueInvalid type'], 'has invalid value: Odd'],
    [{ type: null }, ['FieldValueInvalid type'], 'has invalid value: '],
    [{ note: 'x'.repeat(1025) }, ['FieldValueInvalid message'], 'at most 1024 characters'],
    [{ deprecatedCount: 1 }, ['FieldValueInvalid count'], 'needs to be unset'],
    [{ deprecatedSource: { host: 'a' } }, ['FieldValueInvalid source'], 'needs to be unset'],
    [{ deprecatedFirstTimestamp: '2026-01-02T03:00:00Z' }, ['FieldValueInvalid firstTimestamp'], 'unset'],
    [{ deprecatedLastTimestamp: '2026-01-02T03:00:00Z' }, ['FieldValueInvalid lastTimestamp'], 'unset'],
    [
      { series: { count: 1, lastObservedTime: newer.eventTime } },
      ['FieldValueInvalid series.count'],
      'should be at least 2',
    ],
    [{ series: { count: 2 } }, ['FieldValueRequired series.lastObservedTime']],
  ])
  // The beta version is as lenient as the core group.
  const free = { ...newer, metadata: { name: 'A' }, eventTime: null, type: 'Odd', deprecatedCount: 1 }
  assert.equal((await api.create({ kind: beta, body: free })).code, 201)
  assert.equal((await api.get({ kind: 'Event', name: 'A' })).object['count'], 1)
})

void test('only the series and the metadata of an event can change through the events group', async (t) => {
  const { api, core, v1 } = await start(t)
  await api.create({ kind: v1, body: newer })
  const stays = (field: string): readonly string[] => [`FieldValueInvalid ${field}`]
  await refusesChange(api, { kind: v1, name: 'e' }, [
    [{ regarding: { name: 'q' } }, stays('involvedObject'), 'field is immutable'],
    [{ reason: 'Other' }, stays('reason'), 'field is immutable'],
    [{ note: 'other' }, stays('message'), 'field is immutable'],
    [{ type: 'Warning' }, stays('type'), 'field is immutable'],
    [{ eventTime: '2026-01-02T03:04:00.123457Z' }, stays('eventTime'), 'field is immutable'],
    [{ action: 'Other' }, stays('action'), 'field is immutable'],
    [{ related: { name: 'r' } }, stays('related'), 'field is immutable'],
    [{ reportingController: 'other' }, stays('reportingController'), 'field is immutable'],
    [{ reportingInstance: 'other' }, stays('reportingInstance'), 'field is immutable'],
    [{ deprecatedCount: 2 }, stays('count'), 'field is immutable'],
    [{ deprecatedSource: { host: 'a' } }, stays('source'), 'field is immutable'],
    [{ deprecatedFirstTimestamp: '2026-01-02T03:00:00Z' }, stays('firstTimestamp'), 'field is immutable'],
    [{ deprecatedLastTimestamp: '2026-01-02T03:00:00Z' }, stays('lastTimestamp'), 'field is immutable'],
    [{ series: { count: 1, lastObservedTime: newer.eventTime } }, stays('series.count'), 'at least 2'],
  ])
  // Digits beyond the microsecond are dropped.
  const eventTime = `${newer.eventTime.slice(0, -1)}999Z`
  const series = { count: 2, lastObservedTime: newer.eventTime }
  await api.patch({ kind: v1, name: 'e', body: { eventTime, series, metadata: { labels: { a: 'b' } } } })
  // An old event can be updated through the newer group, as long as its immutable fields stay.
  await api.create({ kind: core, body: { ...older, metadata: { name: 'old' } } })
  await api.patch({ kind: v1, name: 'old', body: { metadata: { labels: { a: 'b' } } } })
  // Through the core group every field can change.
  await api.patch({ kind: core, name: 'e', body: { reason: 'Other', message: 'other', count: 7 } })
})

void test('events are selected by their object, reporter, reason and type, with the field names of each group', async (t) => {
  const { api, core, v1 } = await start(t)
  await api.create({ kind: core, body: { ...older, metadata: { name: 'old' } } })
  await api.create({ kind: v1, body: { ...newer, metadata: { name: 'new' } } })
  const selected = async (kind: string, fieldSelector: string): Promise<readonly string[]> => {
    const { items } = await api.list({ kind, query: { fieldSelector } })
    return items.map(({ metadata: { name } }) => name)
  }
  for (const [selector, names] of [
    ['involvedObject.kind=Pod', ['new', 'old']],
    ['involvedObject.name=p,involvedObject.namespace=default,involvedObject.uid=u', ['new', 'old']],
    ['involvedObject.name!=p', []],
    ['involvedObject.fieldPath=spec.containers{c}', ['new', 'old']],
    ['involvedObject.apiVersion=,involvedObject.resourceVersion=', ['new', 'old']],
    ['reason=BackOff', ['old']],
    ['reportingComponent=example.com/kubelet', ['new']],
    ['source=kubelet', ['old']],
    ['source=example.com/kubelet', ['new']],
    ['type!=Normal', ['old']],
    ['metadata.name=new', ['new']],
  ] as const) {
    assert.deepEqual(await selected(core, selector), names, selector)
  }
  assert.deepEqual(await selected(v1, 'regarding.kind=Pod,reportingController=example.com/kubelet'), ['new'])
  assert.deepEqual(await selected(v1, 'reason=BackOff,type=Warning'), ['old'])
  for (const [kind, selector] of [
    [core, 'message=a'],
    [v1, 'source=kubelet'],
    [v1, 'involvedObject.kind=Pod'],
  ] as const) {
    assert.equal((await refused(selected(kind, selector))).code, 400)
  }
})

void test('table rows show when an event was seen, its object, its reporter and its count', async (t) => {
  const { api, core, v1 } = await start(t)
  const { object: old } = await api.create({ kind: core, body: older })
  const since = (time: string | null): JsonObject => ({ since: time })
  assert.deepEqual(cells(api, core, old), {
    ...{ 'Last Seen': since(older.lastTimestamp), Type: 'Warning', Reason: 'BackOff', Object: 'pod/p' },
    ...{ Subobject: 'spec.containers{c}', Source: 'kubelet, node-1', Message: 'it failed' },
    ...{ 'First Seen': since(older.firstTimestamp), Count: 4, Name: 'e' },
  })
  const { object: made } = await api.create({ kind: v1, body: { ...newer, metadata: { name: 'f' } } })
  const row = cells(api, v1, made)
  assert.deepEqual(row['Last Seen'], since(newer.eventTime))
  assert.deepEqual([row['First Seen'], row['Count']], [since(newer.eventTime), 1])
  assert.equal(row['Source'], 'example.com/kubelet, node-1')
  const series = { count: 9, lastObservedTime: '2026-01-02T03:05:00.000001Z' }
  const { object: again } = await api.patch({ kind: v1, name: 'f', body: { series } })
  const later = cells(api, v1, again)
  assert.deepEqual([later['Last Seen'], later['Count']], [since(series.lastObservedTime), 9])
  const bare = { metadata: { name: 'g' }, involvedObject: { kind: 'Node' } }
  const { object: quiet } = await api.create({ kind: core, body: bare })
  const empty = cells(api, core, quiet)
  assert.deepEqual([empty['Last Seen'], empty['Object'], empty['Source']], [since(null), 'node', ''])
  const wide = (api.definition(core).columns ?? []).filter(({ priority }) => priority === 1)
  assert.deepEqual(
    wide.map(({ name }) => name),
    ['Subobject', 'Source', 'First Seen', 'Count', 'Name'],
  )
})

void test('discovery reports the same storage version hash for all three versions', async (t) => {
  const { api, core, v1, beta } = await start(t, 'k8s.io')
  const hashes = [core, v1, beta].map((kind) => storageVersionHash(api.definition(kind)))
  assert.deepEqual(hashes, ['r2yiGXH7wu8=', 'r2yiGXH7wu8=', 'r2yiGXH7wu8='])
})

void test('a PUT creates a missing event, and needs no version for an existing one', async (t) => {
  const { api, core } = await start(t, 'k8s.io')
  assert.equal((await api.update({ kind: core, name: 'e', body: older })).code, 201)
  const again = await api.update({ kind: core, name: 'e', body: { ...older, count: 5 } })
  assert.deepEqual([again.code, again.object['count']], [200, 5])
  const drawn = await api.create({ kind: core, body: { ...older, metadata: { generateName: 'p.' } } })
  assert.match(drawn.object.metadata.name, /^p\.[a-z0-9]{5}$/)
})
