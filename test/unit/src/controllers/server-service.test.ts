/*
 * Goal: the Service of the API server exists, and lists the members that are ready, whatever
 * clients do to it.
 * Method: the shipped controllers of a member that leads, with Member objects that the test writes
 * as the state machine and the leader do.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import pino from 'pino'
import {
  numberMember,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { forbidden } from '../../../../src/api/errors/standard-errors.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import type { Admission } from '../../../../src/registry/calls/admission.ts'
import { encode } from '../../../../src/registry/kinds/encode.ts'
import { serviceRanges } from '../../../../src/resources/services/service-ranges.ts'
import type { ServiceRanges } from '../../../../src/resources/services/service-ranges.ts'
import { memberKey } from '../../../../src/store/machine/member-objects.ts'
import { lead, rest } from '../app/leading-member.ts'
import { refused } from '../registry/fixture.ts'
import type { Fixture, Obj } from '../registry/fixture.ts'
import { claimsOf, writeRaw } from '../resources/services/stored-services.ts'
import { eventsIn } from './recorded-events.ts'

type Written = { readonly address: string; readonly ready?: boolean; readonly lag?: number }

/** Writes the object of a member. */
async function member(api: Fixture, name: string, of: Written): Promise<void> {
  const { names } = api
  const { address, ready = true, lag = 0 } = of
  const object = encode({
    ...{ kind: 'Member', apiVersion: `${names.group('cluster')}/v1` },
    metadata: { name, uid: `uid-${name}`, resourceVersion: '' },
    spec: { role: 'Voter', peerAddress: '10.0.0.1:7443', clientAddress: address },
    status: { id: `1${name.slice(1)}`, role: 'Voter', phase: ready ? 'Ready' : 'NotReady', ready, lag },
  })
  await writeRaw(api, [{ kind: 'put', key: memberKey(names.domain, name), conditions: [], object }])
}

async function remove(api: Fixture, name: string): Promise<void> {
  await writeRaw(api, [{ kind: 'delete', key: memberKey(api.names.domain, name), conditions: [] }])
}

type Led = {
  readonly domain?: ApiDomain
  readonly ranges?: ServiceRanges
  readonly members: readonly Written[]
  readonly log?: pino.Logger
  readonly admission?: Admission
  readonly prepare?: (api: Fixture) => Promise<void>
}

/** Begins to lead a cluster of members n1, n2, ... */
async function led(t: TestContext, { members, prepare, domain = 'k8s.io', ...more }: Led): Promise<Fixture> {
  const api = await lead(t, {
    ...{ domain, enabled: [], ...more },
    prepare: async (fixture) => {
      for (const [index, written] of members.entries()) await member(fixture, `n${index + 1}`, written)
      await prepare?.(fixture)
    },
  })
  await rest(api)
  return api
}

const three = ['10.0.0.1:6443', '10.0.0.2:6443', '10.0.0.3:6443'].map((address) => ({ address }))
const name = 'kubernetes'
const SLICE = 'discovery.k8s.io/v1/EndpointSlice'

async function found(api: Fixture, kind: string, of: string = name): Promise<Obj> {
  return (await api.get({ kind, name: of })).object
}

async function serviceSpec(api: Fixture): Promise<JsonObject> {
  return objectMember(await found(api, 'Service'), 'spec')
}

/** Returns the addresses of the Endpoints, as `IP:PORT`. */
async function addressesOf(api: Fixture): Promise<readonly string[]> {
  return objectsMember(await found(api, 'Endpoints'), 'subsets').flatMap((subset) =>
    objectsMember(subset, 'ports').flatMap((port) =>
      objectsMember(subset, 'addresses').map(
        (one) => `${textMember(one, 'ip')}:${numberMember(port, 'port') ?? 0}`,
      ),
    ),
  )
}

/** Returns the slices of the Service, as `NAME IP,IP`. */
async function slicesOf(api: Fixture): Promise<readonly string[]> {
  const { items } = await api.list({ kind: SLICE })
  return items.map((slice) => {
    const ips = objectsMember(slice, 'endpoints').flatMap((one) => textsMember(one, 'addresses'))
    return `${slice.metadata.name} ${ips.join(',')}`
  })
}

for (const [domain, service, prefix] of [
  ['k8s.io', 'kubernetes', 'kubernetes.io'],
  ['orch.io', 'orch', 'orch.io'],
] as const) {
  void test(`${domain}: the Service ${service} has the first address of the range and lists the ready members`, async (t) => {
    const api = await led(t, { domain, members: three })
    const { metadata, spec } = await found(api, 'Service', service)
    assert.deepEqual(metadata.labels, { component: 'apiserver', provider: service })
    assert.deepEqual(spec, {
      ...{ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], internalTrafficPolicy: 'Cluster' },
      ...{ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
      ...{ sessionAffinity: 'None', type: 'ClusterIP' },
    })
    assert.deepEqual(claimsOf(api), ['10.0.0.1'])
    const endpoints = await found(api, 'Endpoints', service)
    assert.deepEqual(endpoints.metadata.labels, { [`endpointslice.${prefix}/skip-mirror`]: 'true' })
    assert.deepEqual(endpoints['subsets'], [
      {
        addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }, { ip: '10.0.0.3' }],
        ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
      },
    ])
    const slice = await found(api, `discovery.${domain}/v1/EndpointSlice`, service)
    assert.deepEqual(slice.metadata.labels, { [`${prefix}/service-name`]: service })
    assert.equal(slice['addressType'], 'IPv4')
    assert.deepEqual(slice['ports'], [{ name: 'https', port: 6443, protocol: 'TCP' }])
    assert.deepEqual(
      slice['endpoints'],
      ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    )
  })
}

void test('a member that is not ready, or removed, leaves the endpoints, and returns when it is ready', async (t) => {
  const api = await led(t, { members: three })
  await member(api, 'n2', { address: '10.0.0.2:6443', ready: false })
  await rest(api)
  assert.deepEqual(await addressesOf(api), ['10.0.0.1:6443', '10.0.0.3:6443'])
  assert.deepEqual(await slicesOf(api), ['kubernetes 10.0.0.1,10.0.0.3'])
  await member(api, 'n2', { address: '10.0.0.22:6443' })
  await remove(api, 'n3')
  await rest(api)
  assert.deepEqual(await addressesOf(api), ['10.0.0.1:6443', '10.0.0.22:6443'])
  assert.deepEqual(await slicesOf(api), ['kubernetes 10.0.0.1,10.0.0.22'])
})

void test('where no member that clients can connect to is ready, the last endpoints stay', async (t) => {
  const api = await led(t, { members: [{ address: '10.0.0.1:6443' }, { address: '127.0.0.1:6443' }] })
  await member(api, 'n1', { address: '10.0.0.1:6443', ready: false })
  await rest(api)
  assert.deepEqual(await addressesOf(api), ['10.0.0.1:6443'])
  assert.deepEqual(await slicesOf(api), ['kubernetes 10.0.0.1'])
})

void test('members with another port, or another family, have a slice of their own as long as there are some', async (t) => {
  const api = await led(t, { members: three })
  await member(api, 'n2', { address: '10.0.0.2:443' })
  await member(api, 'n3', { address: '[fd00::3]:6443' })
  await rest(api)
  assert.deepEqual(await addressesOf(api), ['10.0.0.2:443', '10.0.0.1:6443', 'fd00::3:6443'])
  const [port] = objectsMember(await serviceSpec(api), 'ports')
  assert.equal(port?.['targetPort'], 443)
  assert.deepEqual(await slicesOf(api), [
    'kubernetes 10.0.0.2',
    'kubernetes-ipv4-6443 10.0.0.1',
    'kubernetes-ipv6-6443 fd00::3',
  ])
  await remove(api, 'n1')
  await remove(api, 'n2')
  await rest(api)
  assert.deepEqual(await slicesOf(api), ['kubernetes fd00::3'])
  assert.equal((await found(api, SLICE))['addressType'], 'IPv6')
})

void test('what clients delete comes back, and what they change is restored; their labels stay', async (t) => {
  const api = await led(t, { members: three })
  for (const kind of ['Endpoints', SLICE, 'Service']) await api.delete({ kind, name })
  await rest(api)
  assert.equal((await serviceSpec(api))['clusterIP'], '10.0.0.1')
  const addresses = ['10.0.0.1:6443', '10.0.0.2:6443', '10.0.0.3:6443']
  assert.deepEqual(await addressesOf(api), addresses)
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 1 }] }]
  const labels = { mine: 'yes' }
  await api.patch({ kind: 'Endpoints', name, body: { metadata: { labels }, subsets } })
  const endpoints = [{ addresses: ['192.0.2.1'] }]
  await api.patch({ kind: SLICE, name, body: { metadata: { labels }, endpoints } })
  const ports = [{ name: 'other', port: 1 }]
  await api.patch({
    kind: 'Service',
    name,
    body: { metadata: { labels }, spec: { type: 'NodePort', ports } },
  })
  // Other slices of the Service are not the server's.
  const service = 'kubernetes.io/service-name'
  const body = { metadata: { name: 'kubernetes-ipv4-1', labels: { [service]: name } }, addressType: 'IPv4' }
  await api.create({ kind: SLICE, body: { ...body, endpoints, ports: [] } })
  await rest(api)
  assert.deepEqual(await addressesOf(api), addresses)
  assert.deepEqual(await slicesOf(api), [
    'kubernetes 10.0.0.1,10.0.0.2,10.0.0.3',
    'kubernetes-ipv4-1 192.0.2.1',
  ])
  const spec = await serviceSpec(api)
  assert.equal(spec['type'], 'ClusterIP')
  assert.deepEqual(spec['ports'], [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }])
  assert.deepEqual(claimsOf(api), ['10.0.0.1'])
  for (const kind of ['Service', 'Endpoints', SLICE])
    assert.equal((await found(api, kind)).metadata.labels?.['mine'], 'yes')
})

void test('nothing is written while the members and their readiness stay the same', async (t) => {
  const api = await led(t, { members: three })
  const { revision } = api.store.view()
  await rest(api)
  assert.equal(api.store.view().revision, revision)
  await member(api, 'n2', { address: '10.0.0.2:6443', lag: 500 })
  await rest(api)
  assert.equal(api.store.view().revision, revision + 1)
})

void test('members with a loopback address or a host name are in no endpoints; they are logged once', async (t) => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
  const members = [{ address: '127.0.0.1:6443' }, { address: 'n2.example:6443' }]
  const api = await led(t, { members, log })
  assert.deepEqual(await addressesOf(api), [])
  assert.deepEqual(await slicesOf(api), ['kubernetes '])
  const reported = (): readonly string[] => lines.filter((line) => line.includes('--advertise-address'))
  assert.equal(reported().length, 1)
  assert.match(reported().join(), /"members":\["n1 \(127\.0\.0\.1:6443\)","n2 \(n2\.example:6443\)"\]/)
  await member(api, 'n1', { address: '10.0.0.1:6443' })
  await rest(api)
  assert.deepEqual(await addressesOf(api), ['10.0.0.1:6443'])
  assert.equal(reported().length, 2)
})

void test('a Service that has the first address of the range delays the creation until it is deleted', async (t) => {
  const spec = { clusterIP: '10.0.0.1', ports: [{ port: 80 }] }
  const body = { metadata: { name: 'squatter' }, spec }
  const api = await led(t, {
    members: three,
    prepare: async (fixture) => void (await fixture.create({ kind: 'Service', body })),
  })
  assert.equal((await refused(api.get({ kind: 'Service', name }))).code, 404)
  assert.equal((await addressesOf(api)).length, 3)
  await api.delete({ kind: 'Service', name: 'squatter' })
  for (let at = 0; at < 4; at++) await rest(api)
  assert.equal((await serviceSpec(api))['clusterIP'], '10.0.0.1')
})

void test('a Service with another address of the range keeps it until the Service is deleted', async (t) => {
  const ranges = serviceRanges(['10.97.0.0/24'], '30000-30100')
  const ports = [{ name: 'https', port: 443, targetPort: 6443 }]
  const spec = { clusterIP: '10.97.0.9', ports }
  const api = await led(t, {
    ...{ members: three, ranges },
    prepare: async (fixture) =>
      void (await fixture.create({ kind: 'Service', body: { metadata: { name }, spec } })),
  })
  assert.equal((await serviceSpec(api))['clusterIP'], '10.97.0.9')
  await api.delete({ kind: 'Service', name })
  await rest(api)
  assert.equal((await serviceSpec(api))['clusterIP'], '10.97.0.1')
})

void test('a Service of the API server that cannot be stored for a minute has a warning', async (t) => {
  const admission = admissionChain([
    {
      name: 'refuse',
      validate: ({ definition, operation }) => {
        if (operation === 'CREATE' && definition.plural === 'services')
          throw forbidden({ group: '', resource: 'services' }, name, 'by a test')
      },
    },
  ])
  const api = await led(t, { members: three, admission })
  assert.deepEqual(await eventsIn(api), [])
  for (let at = 0; at < 12; at++) await rest(api)
  assert.deepEqual(await eventsIn(api), ['default: Warning APIServerServiceNotStored Namespace default x1'])
})
