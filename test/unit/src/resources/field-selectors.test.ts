/*
 * Goal: each kind can be selected by the fields that release 1.24 supports for it, and by no
 * others.
 * Method: the table `fieldsOf` against all kinds of both domains; lists by aliases and by lists of
 * addresses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { apiVersionOf } from '../../../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import { createPod, updateStatus } from './pods/pod-samples.ts'

const reference = ['apiVersion', 'fieldPath', 'kind', 'name', 'namespace', 'resourceVersion', 'uid']

/**
 * Fields other than `metadata.name` and `metadata.namespace`.
 *
 * @source the notes on the 1.24 API that this server was written from, `validation-notes`:
 * `_generic.fieldSelectors`, and `fieldSelectors` of each kind
 */
const fieldsOf: { readonly [kind: string]: readonly string[] } = {
  'certificates/v1/CertificateSigningRequest': ['spec.signerName'],
  'v1/Event': [
    ...reference.map((member) => `involvedObject.${member}`),
    ...['reason', 'reportingComponent', 'source', 'type'],
  ],
  'v1/Namespace': ['name', 'status.phase'],
  'v1/Node': ['spec.unschedulable'],
  'v1/PersistentVolume': ['name'],
  'v1/PersistentVolumeClaim': ['name'],
  'v1/Pod': [
    ...['spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName'],
    ...['status.nominatedNodeName', 'status.phase', 'status.podIP', 'status.podIPs'],
  ],
  'v1/ReplicationController': ['status.replicas'],
  'apps/v1/ReplicaSet': ['status.replicas'],
  'batch/v1/Job': ['status.successful'],
  'v1/Secret': ['type'],
  // The fields of the core group except `source`, with the names of this group.
  ...Object.fromEntries(
    ['v1', 'v1beta1'].map((version) => [
      `events/${version}/Event`,
      [
        ...['reason'],
        ...reference.map((member) => `regarding.${member}`),
        ...['reportingController', 'type'],
      ],
    ]),
  ),
}

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`${domain}: each kind can be selected by the fields of the table, and by no others`, () => {
    const names = namesOf(domain)
    const seen = new Set<string>()
    for (const definition of definitionsFor(names)) {
      const kind = `${apiVersionOf({ ...definition, group: names.groupStem(definition.group) })}/${definition.kind}`
      const fields = definition.selectableFields ?? []
      const shown = fields.map((field) => (typeof field === 'string' ? field : field.name)).toSorted()
      assert.deepEqual(shown, fieldsOf[kind] ?? [], kind)
      seen.add(kind)
    }
    for (const kind of Object.keys(fieldsOf)) assert.ok(seen.has(kind), kind)
  })
}

void test('name is an alias of metadata.name for kinds that have it', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] }
  const csi = { driver: 'd.example.com', volumeHandle: 'h' }
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const bodies = {
    Namespace: {},
    PersistentVolume: { spec: { ...spec, csi } },
    PersistentVolumeClaim: { spec: claim },
  }
  for (const [kind, body] of Object.entries(bodies)) {
    for (const name of ['one', 'two']) await api.create({ kind, body: { ...body, metadata: { name } } })
    const select = (fieldSelector: string) => api.list({ kind, query: { fieldSelector } })
    const names = (await select('name=one')).items.map(({ metadata }) => metadata.name)
    assert.deepEqual(names, ['one'], kind)
    const others = (await select('name!=one')).items.map(({ metadata }) => metadata.name)
    assert.ok(others.includes('two') && !others.includes('one'), kind)
  }
  const seen = await refused(api.list({ kind: 'ConfigMap', query: { fieldSelector: 'name=one' } }))
  assert.equal(seen.code, 400)
})

void test('Pods can be selected by the list of all their addresses, and not by one of several', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await createPod(api)
  await createPod(api, {}, { name: 'b' })
  const ips = ['10.0.0.1', 'fd00::1']
  await updateStatus(api, { podIPs: ips.map((ip) => ({ ip })) })
  const count = async (value: string): Promise<number> => {
    const got = await api.list({ kind: 'Pod', query: { fieldSelector: `status.podIPs=${value}` } })
    return got.items.length
  }
  assert.deepEqual([await count('10.0.0.1\\,fd00::1'), await count('10.0.0.1'), await count('')], [1, 0, 1])
})
