/*
 * Goal: PersistentVolumeClaim follows spec 2.6: required and immutable fields, data sources,
 * status.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'PersistentVolumeClaim'
const name = 'c'
const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const body = { metadata: { name }, spec }

async function opened(
  t: { after: (done: () => Promise<void>) => void },
  domain?: 'k8s.io',
): Promise<Fixture> {
  const api = await Fixture.open(domain === undefined ? {} : { domain })
  t.after(() => api.close())
  return api
}

function bind(api: Fixture, more: JsonObject = {}): Promise<unknown> {
  const status = { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...more }
  return api.patch({ kind, name, subresource: 'status', body: { status } })
}

void test('spec 2.6: volumeMode is Filesystem and the phase Pending by default', async (t) => {
  const api = await opened(t)
  const { object } = await api.create({ kind, body: { ...body, status: { phase: 'Bound' } } })
  assert.deepEqual(object['spec'], { ...spec, volumeMode: 'Filesystem' })
  assert.deepEqual(object['status'], { phase: 'Pending' })
})

void test('spec 2.6: name, accessModes, resources, selector, class, mode and data sources are validated', async (t) => {
  const api = await opened(t)
  await refusesNew(api, { kind, body }, [
    [{ spec: { accessModes: [] } }, ['FieldValueRequired spec.accessModes'], 'at least 1 access mode'],
    [{ spec: { accessModes: ['RWO'] } }, ['FieldValueNotSupported spec.accessModes'], '"ReadWriteOnce"'],
    [{ spec: { resources: { requests: null } } }, ['FieldValueRequired spec.resources[storage]']],
    [
      { spec: { resources: { requests: { storage: '0' } } } },
      ['FieldValueInvalid spec.resources[storage]'],
      'greater than zero',
    ],
    [
      { spec: { selector: { matchLabels: { 'a b': '' } } } },
      ['FieldValueInvalid spec.selector.matchLabels'],
      'name part',
    ],
    [{ spec: { storageClassName: 'A' } }, ['FieldValueInvalid spec.storageClassName'], 'subdomain'],
    [{ spec: { volumeMode: 'Tape' } }, ['FieldValueNotSupported spec.volumeMode'], '"Block"'],
    [
      { spec: { dataSourceRef: { kind: 'Thing', name: 'n' } } },
      ['FieldValueInvalid spec.dataSourceRef', 'FieldValueInvalid spec.dataSource'],
      'apiGroup',
    ],
    [
      { spec: { dataSource: { kind: 'PersistentVolumeClaim' } } },
      ['FieldValueRequired spec.dataSource.name', 'FieldValueRequired spec.dataSourceRef.name'],
    ],
    [{ metadata: { name: 'A' } }, ['FieldValueInvalid metadata.name'], 'subdomain'],
  ])
  const empty = await api.create({ kind, body: { ...body, spec: { ...spec, storageClassName: '' } } })
  assert.equal((empty.object['spec'] as JsonObject)['storageClassName'], '')
})

void test('spec 2.6: dataSource and dataSourceRef are copied if one is unset, and equal if both are set', async (t) => {
  const api = await opened(t)
  const claim = { apiGroup: null, kind: 'PersistentVolumeClaim', name: 'other' }
  const snapshot = { apiGroup: 'snapshot.storage.orch.io', kind: 'VolumeSnapshot', name: 's' }
  const foreign = { apiGroup: 'x.io', kind: 'Image', name: 'i' }
  const sources = async (more: JsonObject, at: string) => {
    const made = await api.create({ kind, body: { metadata: { name: at }, spec: { ...spec, ...more } } })
    const { dataSource, dataSourceRef } = made.object['spec'] as JsonObject
    return [dataSource, dataSourceRef]
  }
  assert.deepEqual(await sources({ dataSource: claim }, 'a'), [claim, claim])
  assert.deepEqual(await sources({ dataSource: snapshot }, 'b'), [snapshot, snapshot])
  assert.deepEqual(await sources({ dataSourceRef: claim }, 'd'), [claim, claim])
  assert.deepEqual(await sources({ dataSourceRef: foreign }, 'e'), [foreign, foreign])
  // An unsupported data source is dropped, as in older releases.
  assert.deepEqual(await sources({ dataSource: foreign }, 'f'), [undefined, undefined])
  assert.deepEqual(await sources({ dataSource: foreign, dataSourceRef: claim }, 'g'), [claim, claim])
  const both = { dataSource: claim, dataSourceRef: snapshot }
  await refusesNew(api, { kind, body }, [[{ spec: both }, ['FieldValueInvalid spec'], 'must match']])
  const upstream = await opened(t, 'k8s.io')
  const theirs = { ...snapshot, apiGroup: 'snapshot.storage.k8s.io' }
  const made = await upstream.create({ kind, body: { ...body, spec: { ...spec, dataSource: theirs } } })
  assert.deepEqual((made.object['spec'] as JsonObject)['dataSourceRef'], theirs)
})

void test('the spec of a claim is immutable, except for its volume, and for growth once it is bound', async (t) => {
  const api = await opened(t)
  await api.create({ kind, body })
  const grow = (storage: string) => ({ spec: { resources: { requests: { storage } } } })
  const immutable = 'immutable after creation except resources.requests for bound claims'
  await refusesChange(api, { kind, name }, [
    [{ spec: { accessModes: ['ReadOnlyMany'] } }, ['FieldValueForbidden spec'], immutable],
    [{ spec: { storageClassName: 'x' } }, ['FieldValueForbidden spec'], immutable],
    [{ spec: { volumeMode: 'Block' } }, ['FieldValueForbidden spec']],
    [{ spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'x' } } }, ['FieldValueForbidden spec']],
    [grow('2Gi'), ['FieldValueForbidden spec']],
  ])
  // Empty equals absent, and amounts are compared by value.
  await api.patch({ kind, name, body: { ...grow('1024Mi'), metadata: { labels: { a: 'b' } } } })
  await api.patch({
    kind,
    name,
    body: { spec: { resources: { requests: { storage: 2 ** 30 }, limits: {} } } },
  })
  await api.patch({ kind, name, body: { spec: { volumeName: 'v' } } })
  await refusesChange(api, { kind, name }, [[{ spec: { volumeName: 'w' } }, ['FieldValueForbidden spec']]])
  await bind(api)
  const { object } = await api.patch({ kind, name, body: grow('2Gi') })
  assert.deepEqual((object['spec'] as JsonObject)['resources'], { requests: { storage: '2Gi' } })
  await refusesChange(api, { kind, name }, [
    [grow('1Gi'), ['FieldValueForbidden spec.resources.requests.storage'], 'less than previous'],
    [{ spec: { resources: { requests: { cpu: '1' } } } }, ['FieldValueForbidden spec']],
  ])
})

void test('the class of a claim may move unchanged from an annotation to the field', async (t) => {
  for (const [domain, key] of [
    [undefined, 'volume.beta.orch.io/storage-class'],
    ['k8s.io', 'volume.beta.kubernetes.io/storage-class'],
  ] as const) {
    const api = await opened(t, domain)
    const metadata = { name, annotations: { [key]: 'fast' } }
    const { object } = await api.create({ kind, body: { metadata, spec } })
    assert.equal(cells(api, kind, object)['StorageClass'], 'fast')
    const change = (className: string, annotation: string | null) => ({
      metadata: { annotations: { [key]: annotation } },
      spec: { storageClassName: className },
    })
    const place = `metadata.annotations[${key}]`
    await refusesChange(api, { kind, name }, [
      [change('slow', null), [`FieldValueInvalid ${place}`, 'FieldValueForbidden spec']],
      [{ metadata: change('', 'slow').metadata }, [`FieldValueInvalid ${place}`], 'immutable'],
    ])
    const moved = await api.patch({ kind, name, body: change('fast', null) })
    assert.equal(cells(api, kind, moved.object)['StorageClass'], 'fast')
  }
})

void test('spec 2.6: the status changes on its own path, and its conditions are merged by type', async (t) => {
  const api = await opened(t)
  await api.create({ kind, body })
  const both = { spec: { volumeName: 'v' }, status: { phase: 'Bound' } }
  const main = await api.patch({ kind, name, body: both })
  assert.deepEqual(main.object['status'], { phase: 'Pending' })
  const other = await api.patch({
    kind,
    name,
    subresource: 'status',
    body: { ...both, spec: { volumeName: 'w' } },
  })
  assert.equal((other.object['spec'] as JsonObject)['volumeName'], 'v')
  assert.deepEqual(other.object['status'], { phase: 'Bound' })
  const strategic = { contentType: 'application/strategic-merge-patch+json', subresource: 'status' }
  const condition = (type: string, status: string) => ({
    status: { conditions: [{ type, status, reason: 'ResizeStarted' }] },
  })
  for (const [type, status] of [
    ['Resizing', 'True'],
    ['FileSystemResizePending', 'False'],
    ['Resizing', 'False'],
  ] as const) {
    await api.patch({ kind, name, ...strategic, body: condition(type, status) })
  }
  const { object } = await api.get({ kind, name })
  const { conditions } = object['status'] as { conditions: readonly JsonObject[] }
  const given = conditions.map((each) => `${textMember(each, 'type')} ${textMember(each, 'status')}`).sort()
  assert.deepEqual(given, ['FileSystemResizePending False', 'Resizing False'])
  await refusesChange(api, { kind, name, subresource: 'status' }, [
    [{ status: { capacity: { storage: '-1' } } }, ['FieldValueInvalid status.capacity[storage]']],
    [{ status: { conditions: [{ type: 'x' }] } }, ['FieldValueRequired status.conditions[0].status']],
    [{ status: { conditions: [{ status: 'x' }] } }, ['FieldValueRequired status.conditions[0].type']],
  ])
})

void test('a claim has its columns', async (t) => {
  const api = await opened(t)
  const made = await api.create({ kind, body: { ...body, spec: { ...spec, storageClassName: 'fast' } } })
  const shown = { Name: name, StorageClass: 'fast', VolumeMode: 'Filesystem' }
  const pending = { ...shown, Status: 'Pending', Volume: '', Capacity: '', 'Access Modes': '' }
  assert.deepEqual(cells(api, kind, made.object), pending)
  await api.patch({ kind, name, body: { spec: { volumeName: 'v' } } })
  await bind(api, { accessModes: ['ReadWriteMany', 'ReadWriteOnce'] })
  const { object } = await api.get({ kind, name })
  const bound = { ...shown, Status: 'Bound', Volume: 'v', Capacity: '1Gi', 'Access Modes': 'RWO,RWX' }
  assert.deepEqual(cells(api, kind, object), bound)
  const going = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
  assert.equal(cells(api, kind, going)['Status'], 'Terminating')
})

void test('spec 2.6: a list without claims has an empty list of items, and deleting a claim returns it', async (t) => {
  const api = await opened(t)
  const none = await api.list({ kind })
  assert.deepEqual([none.kind, none.items], ['PersistentVolumeClaimList', []])
  await api.create({ kind, body })
  const gone = await api.delete({ kind, name })
  assert.deepEqual([gone.code, gone.object.kind], [200, kind])
})
