/*
 * Goal: Node behaves as upstream's: taints, address ranges, quantities, the fields that each path
 * may change, columns.
 * Method: the shipped verbs on the state machine in memory; each rule violated once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'

const kind = 'Node'
const name = 'n1'
const metadata = { name }
const taint = { key: 'a.io/b', value: 'c', effect: 'NoSchedule' }

void test('a node is created with its status, whose unset members get defaults', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.create({
    kind,
    body: { metadata, status: { capacity: { cpu: '4000m', pods: 110 } } },
  })
  assert.deepEqual(object['spec'], {})
  const info =
    'architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID'
  const members = `${info} operatingSystem osImage systemUUID`.split(' ')
  assert.deepEqual(object['status'], {
    capacity: { cpu: '4', pods: '110' },
    allocatable: { cpu: '4', pods: '110' },
    daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    nodeInfo: Object.fromEntries(members.map((member) => [member, ''])),
  })
})

void test('each rule of a node is enforced', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rows: readonly (readonly [JsonObject, readonly string[], string])[] = [
    [{ spec: { taints: [{ ...taint, key: '' }] } }, ['FieldValueRequired spec.taints[0].key'], ''],
    [{ spec: { taints: [{ ...taint, key: 'a b' }] } }, ['FieldValueInvalid spec.taints[0].key'], 'name part'],
    [
      { spec: { taints: [{ ...taint, value: 'a b' }] } },
      ['FieldValueInvalid spec.taints[0].value'],
      'valid label',
    ],
    [{ spec: { taints: [{ ...taint, effect: '' }] } }, ['FieldValueRequired spec.taints[0].effect'], ''],
    [
      { spec: { taints: [{ ...taint, effect: 'Never' }] } },
      ['FieldValueNotSupported spec.taints[0].effect'],
      '"NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    [{ spec: { taints: [taint, { ...taint, value: 'd' }] } }, ['FieldValueDuplicate spec.taints[1]'], ''],
    [{ spec: { podCIDRs: ['10.0.0.0/33'] } }, ['FieldValueInvalid spec.podCIDRs[0]'], 'must be a valid CIDR'],
    [{ spec: { podCIDR: 'x' } }, ['FieldValueInvalid spec.podCIDRs[0]'], 'must be a valid CIDR'],
    [
      { spec: { podCIDRs: ['10.0.0.0/8', '11.0.0.0/8'] } },
      ['FieldValueInvalid spec.podCIDRs'],
      'no more than one CIDR for each IP family',
    ],
    [
      { spec: { podCIDRs: ['fd00::/8', 'fd00::/8'] } },
      ['FieldValueInvalid spec.podCIDRs', 'FieldValueDuplicate spec.podCIDRs[1]'],
      '',
    ],
    [
      { status: { capacity: { cpu: '-1' }, allocatable: { cpu: '1' } } },
      ['FieldValueInvalid status.capacity[cpu]'],
      'greater than or equal to 0',
    ],
    [
      { status: { allocatable: { 'x.io/gpu': '1500m' } } },
      ['FieldValueInvalid status.allocatable[x.io/gpu]'],
      'must be an integer',
    ],
  ]
  for (const [body, wanted, words] of rows) {
    const seen = await refused(api.create({ kind, body: { metadata, ...body } }))
    assert.deepEqual([seen.code, ...causes(seen)], [422, ...wanted])
    assert.ok(seen.message.includes(words), seen.message)
  }
  const spec = { taints: [taint, { ...taint, effect: 'NoExecute' }], podCIDRs: ['10.0.0.0/8', 'fd00::/8'] }
  const { object } = await api.create({ kind, body: { metadata, spec } })
  assert.deepEqual(object['spec'], { ...spec, podCIDR: '10.0.0.0/8' })
})

void test('podCIDRs and providerID can be set once, and externalID cannot be changed; other members of the spec are mutable', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body: { metadata } })
  const patch = (spec: JsonObject) => api.patch({ kind, name, body: { spec } })
  const given = await patch({ podCIDR: '10.0.0.0/8', providerID: 'x://1' })
  assert.deepEqual(given.object['spec'], {
    podCIDR: '10.0.0.0/8',
    podCIDRs: ['10.0.0.0/8'],
    providerID: 'x://1',
  })
  const rows: readonly (readonly [JsonObject, string])[] = [
    [{ podCIDR: '11.0.0.0/8' }, 'spec.podCIDRs'],
    [{ podCIDR: null, podCIDRs: null }, 'spec.podCIDRs'],
    [{ providerID: 'x://2' }, 'spec.providerID'],
    [{ providerID: null }, 'spec.providerID'],
    [{ externalID: 'x' }, 'spec.externalID'],
  ]
  for (const [spec, field] of rows) {
    const seen = await refused(patch(spec))
    assert.deepEqual([seen.code, ...causes(seen)], [422, `FieldValueForbidden ${field}`])
  }
  assert.equal((await patch({ unschedulable: true, taints: [taint] })).code, 200)
})

void test('status and spec change on separate paths; deprecated settings are dropped; nodes are selected by spec.unschedulable', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const config = { configSource: { configMap: { name: 'a', namespace: 'b', kubeletConfigKey: 'c' } } }
  const made = await api.create({
    kind,
    body: { metadata, spec: config, status: { config: { error: 'x' } } },
  })
  assert.ok(!made.text.includes('config'))
  const both = { spec: { unschedulable: true }, status: { phase: 'Running' } }
  const main = await api.patch({ kind, name, body: both })
  assert.deepEqual(
    [main.object['spec'], main.object['status']],
    [{ unschedulable: true }, made.object['status']],
  )
  const other = {
    metadata: { labels: { a: 'b' } },
    spec: { unschedulable: false },
    status: { phase: 'Running' },
  }
  const status = await api.patch({ kind, name, subresource: 'status', body: other })
  assert.deepEqual(status.object['spec'], { unschedulable: true })
  assert.equal((status.object['status'] as JsonObject)['phase'], 'Running')
  assert.deepEqual(status.object.metadata.labels, { a: 'b' })
  const address = { type: 'InternalIP', address: '10.0.0.1' }
  const body = { status: { addresses: [address, address] } }
  const twice = await refused(api.patch({ kind, name, subresource: 'status', body }))
  assert.deepEqual([twice.code, ...causes(twice)], [422, 'FieldValueDuplicate status.addresses[1]'])
  const chosen = await api.list({ kind, query: { fieldSelector: 'spec.unschedulable=true' } })
  assert.equal(chosen.items.length, 1)
  const free = await api.list({ kind, query: { fieldSelector: 'spec.unschedulable=false' } })
  assert.equal(free.items.length, 0)
  await api.create({ kind, body: { metadata: { name: 'open' } } })
  const open = await api.list({ kind, query: { fieldSelector: 'spec.unschedulable=false' } })
  assert.deepEqual(
    open.items.map((item) => item.metadata.name),
    ['open'],
  )
})

void test('a node has its columns, with the role labels of the API domain', async (t) => {
  for (const [domain, prefix] of [
    ['orch.io', 'orch.io'],
    ['k8s.io', 'kubernetes.io'],
  ] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const labels = {
      [`node-role.${prefix}/worker`]: '',
      [`node-role.${prefix}/control-plane`]: '',
      [`${prefix}/role`]: 'edge',
    }
    const status = {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      nodeInfo: { kubeletVersion: 'v1.24.0', osImage: 'Some Linux' },
    }
    const { object } = await api.create({
      kind,
      body: { metadata: { name, labels }, spec: { unschedulable: true }, status },
    })
    const columns = api.definition(kind).columns ?? []
    assert.deepEqual(
      columns.map((column) => [column.name, column.priority ?? 0, column.cell(object)]),
      [
        ['Name', 0, name],
        ['Status', 0, 'Ready,SchedulingDisabled'],
        ['Roles', 0, 'control-plane,edge,worker'],
        ['Age', 0, { since: object.metadata.creationTimestamp }],
        ['Version', 0, 'v1.24.0'],
        ['Internal-IP', 1, '10.0.0.1'],
        ['External-IP', 1, '<none>'],
        ['OS-Image', 1, 'Some Linux'],
        ['Kernel-Version', 1, '<unknown>'],
        ['Container-Runtime', 1, '<unknown>'],
      ],
    )
    const bare = await api.create({ kind, body: { metadata: { name: 'bare' } } })
    assert.deepEqual([columns[1]?.cell(bare.object), columns[2]?.cell(bare.object)], ['Unknown', '<none>'])
  }
})
