/*
 * Goal: VolumeAttachment as spec 2.9 has it: one source, an immutable spec, and a status that the
 * driver sets.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'VolumeAttachment'
const name = 'a'
const spec = { attacher: 'd.example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } }
const body = { metadata: { name }, spec }
const csi = { driver: 'd.example.com', volumeHandle: 'h' }
const inline = { accessModes: ['ReadWriteOnce'], csi }

void test('spec 2.9: a new attachment is not attached, whatever the body contains', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.create({ kind, body: { ...body, status: { attached: true } } })
  assert.deepEqual([object['spec'], object['status']], [spec, { attached: false }])
  const list = await api.list({ kind })
  assert.deepEqual([list.kind, list.items.length], ['VolumeAttachmentList', 1])
  const gone = await api.delete({ kind, name })
  assert.deepEqual([gone.code, gone.object.kind], [200, kind])
})

void test('spec 2.9: attacher, nodeName and exactly one source are required', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const source = 'spec.source'
  await refusesNew(api, { kind, body }, [
    [{ spec: { attacher: null } }, ['FieldValueRequired spec.attacher']],
    [{ spec: { attacher: 'a_b' } }, ['FieldValueInvalid spec.attacher']],
    [{ spec: { attacher: 'd'.repeat(64) } }, ['FieldValueTooLong spec.attacher']],
    [{ spec: { nodeName: null } }, ['FieldValueRequired spec.nodeName']],
    [{ spec: { nodeName: 'N' } }, ['FieldValueInvalid spec.nodeName']],
    [{ spec: { source: null } }, [`FieldValueRequired ${source}`], 'exactly one'],
    [
      { spec: null },
      [
        `FieldValueRequired spec.attacher`,
        'FieldValueRequired spec.nodeName',
        `FieldValueRequired ${source}`,
      ],
    ],
    [{ spec: { source: { inlineVolumeSpec: inline } } }, [`FieldValueForbidden ${source}`], 'exactly one'],
    [
      { spec: { source: { persistentVolumeName: '' } } },
      [`FieldValueRequired ${source}.persistentVolumeName`],
      'non empty',
    ],
    [
      { spec: { source: { persistentVolumeName: 'A' } } },
      [`FieldValueInvalid ${source}.persistentVolumeName`],
    ],
  ])
})

void test('spec 2.9: an inline volume has a CSI source and no claim', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const source = { inlineVolumeSpec: inline }
  const good = { metadata: { name }, spec: { ...spec, source } }
  const change = (inlineVolumeSpec: JsonObject) => ({ spec: { source: { inlineVolumeSpec } } })
  const at = 'spec.source.inlineVolumeSpec'
  await refusesNew(api, { kind, body: good }, [
    [change({ accessModes: null }), [`FieldValueRequired ${at}.accessModes`]],
    [change({ csi: null }), [`FieldValueRequired ${at}`, `FieldValueRequired ${at}.csi`]],
    [
      change({ csi: null, nfs: { server: 's', path: '/' } }),
      [`FieldValueRequired ${at}.csi`],
      'inline volumes',
    ],
    [change({ capacity: { storage: '1' } }), [`FieldValueForbidden ${at}.capacity`]],
    [change({ claimRef: { name: 'c' } }), [`FieldValueForbidden ${at}.claimRef`]],
    [change({ storageClassName: 'x' }), [`FieldValueForbidden ${at}.storageClassName`]],
    [
      change({ nodeAffinity: { required: { nodeSelectorTerms: [{}] } } }),
      [`FieldValueForbidden ${at}.nodeAffinity`],
    ],
    [
      change({ persistentVolumeReclaimPolicy: 'Delete' }),
      [`FieldValueForbidden ${at}.persistentVolumeReclaimPolicy`],
      'only be Retain',
    ],
    [change({ volumeMode: 'Block' }), [`FieldValueForbidden ${at}.volumeMode`], 'Filesystem'],
    [
      change({ csi: null, flexVolume: { driver: 'd', options: { 'orch.io/a': '' } } }),
      [`FieldValueRequired ${at}.csi`, `FieldValueInvalid ${at}.flexVolume.options[orch.io/a]`],
    ],
  ])
  assert.equal((await api.create({ kind, body: good })).code, 201)
})

void test('the spec of an attachment is immutable; a PUT names the version that it replaces', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body })
  await refusesChange(api, { kind, name }, [
    [{ spec: { nodeName: 'm' } }, ['FieldValueInvalid spec'], 'field is immutable'],
    [{ spec: { source: { persistentVolumeName: 'w' } } }, ['FieldValueInvalid spec']],
  ])
  const { object } = await api.patch({
    kind,
    name,
    body: { metadata: { labels: { a: 'b' } }, status: { attached: true } },
  })
  assert.deepEqual([object.metadata.labels, object['status']], [{ a: 'b' }, { attached: false }])
  assert.equal(api.definition(kind).updateNeedsVersion, true)
})

void test('spec 2.9: a status update changes nothing else', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const metadata = { name, labels: { a: 'b' }, finalizers: ['x.io/y'] }
  await api.create({ kind, body: { metadata, spec } })
  const attachError = { time: '2026-01-02T03:04:05Z', message: 'no' }
  const status = { attached: true, attachmentMetadata: { path: '/d' }, attachError }
  const path = { kind, name, subresource: 'status' }
  const { object } = await api.patch({
    ...path,
    body: { metadata: { labels: { a: 'c' }, finalizers: [] }, spec: { nodeName: 'm' }, status },
  })
  assert.deepEqual(object['status'], status)
  assert.deepEqual(object['spec'], spec)
  assert.deepEqual([object.metadata.labels, object.metadata.finalizers], [{ a: 'b' }, ['x.io/y']])
  await refusesChange(api, path, [
    [
      { status: { detachError: { message: 'x'.repeat(1025) } } },
      ['FieldValueTooLong status.detachError.message'],
    ],
    [
      { status: { attachmentMetadata: { a: 'x'.repeat(256 * 1024) } } },
      ['FieldValueTooLong status.attachmentMetadata'],
    ],
  ])
  assert.deepEqual(cells(api, kind, object), {
    Name: name,
    Attacher: 'd.example.com',
    PV: 'v',
    Node: 'n',
    Attached: true,
  })
})
