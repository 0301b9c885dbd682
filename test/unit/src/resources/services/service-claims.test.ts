/*
 * Goal: a cluster IP and a node port belong to one Service, and are free again when it has them no
 * longer.
 * Method: the shipped verbs on the state machine in memory; after each change, the stored claims
 * are compared with the values of the stored Services.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import {
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import type { AnyObject } from '../../../../../src/registry/kinds/definition.ts'
import { parseStored } from '../../../../../src/registry/kinds/encode.ts'
import { claimOperation } from '../../../../../src/registry/writing/claims.ts'
import { serviceRanges } from '../../../../../src/resources/services/service-ranges.ts'
import type { Command, Outcome } from '../../../../../src/store/command.ts'
import { prefixOf } from '../../../../../src/store/key.ts'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { ForwardingStore } from '../../../../../src/registry/kinds/forwarding-store.ts'
import { Fixture, refused } from '../../registry/fixture.ts'
import type { FixtureOptions } from '../../registry/fixture.ts'
import { claimsOf, keyOfClaim, storedPort, storeOlder, writeRaw } from './stored-services.ts'

const kind = 'Service'
const ports = [{ port: 80 }]

async function opened(t: TestContext, options: FixtureOptions = {}): Promise<Fixture> {
  const api = await Fixture.open(options)
  t.after(() => api.close())
  return api
}

function create(api: Fixture, name: string, spec: JsonObject = {}): Promise<AnyObject> {
  return api
    .create({ kind, body: { metadata: { name }, spec: { ports, ...spec } } })
    .then(({ object }) => object)
}

function change(api: Fixture, name: string, spec: JsonObject): Promise<AnyObject> {
  return api.patch({ kind, name, body: { spec } }).then(({ object }) => object)
}

function specOf(object: AnyObject): JsonObject {
  return objectMember(object, 'spec')
}

/** Returns the values of a Service, as its claims name them. */
function valuesOf(object: AnyObject): readonly string[] {
  const spec = specOf(object)
  const numbers = [...objectsMember(spec, 'ports').map((port) => numberMember(port, 'nodePort') ?? 0)]
  numbers.push(numberMember(spec, 'healthCheckNodePort') ?? 0)
  const ips = textsMember(spec, 'clusterIPs').filter((ip) => ip !== 'None')
  return [...ips, ...new Set(numbers.filter((port) => port > 0).map(String))]
}

/** Asserts that exactly the values of the stored Services are claimed. */
function assertClaimed(api: Fixture): void {
  const prefix = prefixOf({ group: '', plural: 'services', namespace: null })
  const { objects } = api.store.view().list(prefix, { after: null, limit: null })
  const values = objects.flatMap((stored) => valuesOf(parseStored(stored)))
  assert.equal(new Set(values).size, values.length, 'no value is used twice')
  assert.deepEqual(claimsOf(api), [...values].sort())
}

void test('a Service gets a cluster IP of the range, and node ports if its type has them', async (t) => {
  const api = await opened(t, { ranges: serviceRanges(['10.96.0.0/16'], '30000-30100') })
  const inner = specOf(await create(api, 'inner'))
  assert.match(textMember(inner, 'clusterIP'), /^10\.96\./)
  const outer = specOf(await create(api, 'outer', { type: 'NodePort' }))
  const nodePort = numberMember(objectsMember(outer, 'ports')[0] ?? {}, 'nodePort') ?? 0
  assert.ok(nodePort >= 30_000 && nodePort <= 30_100)
  const balanced = specOf(await create(api, 'lb', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }))
  assert.notEqual(numberMember(balanced, 'healthCheckNodePort') ?? 0, 0)
  const bare = specOf(
    await create(api, 'bare', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }),
  )
  assert.equal(memberOf(objectsMember(bare, 'ports')[0] ?? {}, 'nodePort'), undefined)
  await create(api, 'headless', { clusterIP: 'None' })
  const dns = specOf(
    await create(api, 'dns', {
      type: 'NodePort',
      ports: [
        { name: 'tcp', port: 53 },
        { name: 'udp', port: 53, protocol: 'UDP' },
      ],
    }),
  )
  const [tcp, udp] = objectsMember(dns, 'ports').map((port) => numberMember(port, 'nodePort') ?? 0)
  assert.equal(tcp, udp)
  assertClaimed(api)
})

void test('a value that another Service has, or that is outside of the range, is refused', async (t) => {
  const api = await opened(t, { ranges: serviceRanges(['10.96.0.0/16', 'fd00::/112'], '30000-30100') })
  const named = { type: 'NodePort', clusterIP: '10.96.0.7', ports: [{ port: 80, nodePort: 30_080 }] }
  await create(api, 'first', named)
  await create(api, 'six', { clusterIP: 'fd00::a' })
  const refusals: readonly (readonly [JsonObject, string])[] = [
    [
      { clusterIP: '10.96.0.7' },
      'spec.clusterIPs: Invalid value: []string{"10.96.0.7"}: failed to allocate IP 10.96.0.7: provided IP is already allocated',
    ],
    [{ clusterIP: 'fd00:0:0::A' }, 'failed to allocate IP fd00:0:0::A: provided IP is already allocated'],
    [
      { clusterIP: '10.97.0.1' },
      'the provided IP (10.97.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16',
    ],
    [{ clusterIP: '10.96.255.255' }, 'is not in the valid range'],
    [
      { type: 'NodePort', ports: [{ port: 1, nodePort: 30_080 }] },
      'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
    ],
    [
      { type: 'NodePort', ports: [{ port: 1, protocol: 'UDP', nodePort: 30_080 }] },
      'provided port is already allocated',
    ],
    [
      { type: 'NodePort', ports: [{ port: 1, nodePort: 31_000 }] },
      'spec.ports[0].nodePort: Invalid value: 31000: provided port is not in the valid range. ' +
        'The range of valid ports is 30000-30100',
    ],
    [
      { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_080 },
      'spec.healthCheckNodePort: Invalid value: 30080: provided port is already allocated',
    ],
    [
      {
        ...{ type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_081 },
        ports: [{ port: 80, nodePort: 30_081 }],
      },
      'spec.healthCheckNodePort: Invalid value: 30081: provided port is already allocated',
    ],
  ]
  for (const [spec, words] of refusals) {
    const { code, message } = await refused(create(api, 'second', spec))
    assert.equal(code, 422, message)
    assert.ok(message.includes(words), message)
  }
  assertClaimed(api)
})

void test('a full range is an error of the server that names the range', async (t) => {
  const api = await opened(t, { ranges: serviceRanges(['10.96.0.0/29'], '30000-30001') })
  // Six addresses, of which the first is not picked.
  for (let at = 0; at < 5; at++) await create(api, `s${at}`)
  const full = await refused(create(api, 'more'))
  assert.equal(full.code, 500)
  assert.match(full.message, /failed to allocate a serviceIP: range is full: .* 10\.96\.0\.0\/29/)
  await create(api, 'named', { clusterIP: '10.96.0.1' })
  await api.delete({ kind, name: 's0' })
  const three = [1, 2, 3].map((port) => ({ name: `p${port}`, port }))
  const ported = await refused(create(api, 'more', { type: 'NodePort', ports: three }))
  assert.match(ported.message, /failed to allocate a nodePort: range is full: .* 30000-30001/)
  await create(api, 'more')
  assertClaimed(api)
})

void test('every way to remove a Service releases its values', async (t) => {
  const api = await opened(t)
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ipFamilyPolicy: 'PreferDualStack' }
  await create(api, 'deleted', spec)
  assert.equal(claimsOf(api).length, 4)
  await api.delete({ kind, name: 'deleted' })
  assert.deepEqual(claimsOf(api), [])
  for (let at = 0; at < 3; at++) await create(api, `s${at}`, spec)
  await api.deleteCollection({ kind })
  assert.deepEqual(claimsOf(api), [])
  const finalizers = ['example.com/keep']
  await api.create({ kind, body: { metadata: { name: 'kept', finalizers }, spec: { ports, ...spec } } })
  await api.delete({ kind, name: 'kept' })
  assertClaimed(api)
  assert.equal(claimsOf(api).length, 4)
  await api.patch({ kind, name: 'kept', body: { metadata: { finalizers: null } } })
  assert.deepEqual(claimsOf(api), [])
})

void test('a change of a Service releases what it has no longer, and claims what it gets', async (t) => {
  const api = await opened(t)
  const two = [
    { name: 'a', port: 80 },
    { name: 'b', port: 81 },
  ]
  const first = await create(api, 'web', { type: 'NodePort', ipFamilyPolicy: 'PreferDualStack', ports: two })
  assert.equal(claimsOf(api).length, 4)
  await change(api, 'web', { ports: two.slice(0, 1) })
  assert.equal(claimsOf(api).length, 3)
  await change(api, 'web', { ports: [{ name: 'a', port: 80, nodePort: 32_000 }] })
  assertClaimed(api)
  const single = await change(api, 'web', { ipFamilyPolicy: 'SingleStack' })
  assert.deepEqual(textsMember(specOf(single), 'clusterIPs'), [textMember(specOf(first), 'clusterIP')])
  assert.deepEqual(textsMember(specOf(single), 'ipFamilies'), ['IPv4'])
  assertClaimed(api)
  const dual = await change(api, 'web', { ipFamilyPolicy: 'RequireDualStack' })
  assert.equal(textsMember(specOf(dual), 'clusterIPs').length, 2)
  assertClaimed(api)
  const balanced = await change(api, 'web', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
  const checked = numberMember(specOf(balanced), 'healthCheckNodePort') ?? 0
  assert.notEqual(checked, 0)
  const immutable = await refused(change(api, 'web', { healthCheckNodePort: checked - 1 }))
  assert.match(immutable.message, /spec.healthCheckNodePort: (Forbidden: field is immutable|Invalid)/)
  await change(api, 'web', { externalTrafficPolicy: 'Cluster' })
  assertClaimed(api)
  await change(api, 'web', { type: 'ClusterIP' })
  assert.equal(claimsOf(api).length, 2)
  assertClaimed(api)
  await change(api, 'web', { type: 'ExternalName', externalName: 'example.com' })
  assert.deepEqual(claimsOf(api), [])
  const again = await change(api, 'web', { type: 'ClusterIP', externalName: null })
  assert.equal(textsMember(specOf(again), 'clusterIPs').length, 1)
  assertClaimed(api)
})

void test('a node port is not given to a port while the health checks of the Service have it', async (t) => {
  const api = await opened(t)
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_090 }
  await create(api, 'web', spec)
  const { code, message } = await refused(change(api, 'web', { ports: [{ port: 80, nodePort: 30_090 }] }))
  assert.equal(code, 422, message)
  assert.match(message, /spec.healthCheckNodePort: Invalid value: 30090: provided port is already allocated/)
  assertClaimed(api)
})

void test('a port keeps its node port under its name, unless the client gives it to another port', async (t) => {
  const api = await opened(t)
  const web = { name: 'web', port: 80, nodePort: 30_080 }
  await create(api, 'web', { type: 'NodePort', ports: [web, { name: 'api', port: 81, nodePort: 30_081 }] })
  const put = async (...sent: readonly JsonObject[]): Promise<readonly number[]> => {
    const body = { metadata: { name: 'web' }, spec: { type: 'NodePort', ports: sent } }
    const { object } = await api.update({ kind, name: 'web', body })
    assertClaimed(api)
    return objectsMember(specOf(object), 'ports').map((port) => numberMember(port, 'nodePort') ?? 0)
  }
  const renumbered = await put({ name: 'web', port: 8080 }, { name: 'api', port: 81, protocol: 'UDP' })
  assert.deepEqual(renumbered, [30_080, 30_081])
  const [picked, named] = await put({ name: 'web', port: 80 }, { name: 'api', port: 81, nodePort: 30_080 })
  assert.equal(named, 30_080)
  assert.ok(picked !== 30_080 && picked !== 0)
  const [renamed] = await put({ name: 'other', port: 80 }, { name: 'api', port: 81 })
  assert.notEqual(renamed, picked)
})

void test('a dry run shows values and claims none, and a status update assigns none', async (t) => {
  const api = await opened(t)
  const body = { metadata: { name: 'web' }, spec: { type: 'NodePort', ports } }
  const shown = await api.create({ kind, body, query: { dryRun: 'All' } })
  assert.notEqual(textMember(specOf(shown.object), 'clusterIP'), '')
  assert.deepEqual(claimsOf(api), [])
  const keyed = await api.create({ kind, body, idempotencyKey: 'a' })
  const repeated = await api.create({ kind, body, idempotencyKey: 'a' })
  assert.deepEqual(repeated.object, keyed.object)
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
  const changed = await api.patch({ kind, name: 'web', subresource: 'status', body: { status } })
  assert.deepEqual(specOf(changed.object), specOf(keyed.object))
  const outside = await api.delete({ kind, name: 'web', query: { dryRun: 'All' } })
  assert.equal(outside.code, 200)
  assertClaimed(api)
  assert.equal(claimsOf(api).length, 2)
})

void test('concurrent creations get different values, and one of those that name the same succeeds', async (t) => {
  const api = await opened(t, { ranges: serviceRanges(['10.96.0.0/24'], '30000-30250') })
  const names = Array.from({ length: 200 }, (_, at) => `s${at}`)
  await Promise.all(names.map((name) => create(api, name, { type: 'NodePort' })))
  assert.equal(claimsOf(api).length, 400)
  assertClaimed(api)
  await api.deleteCollection({ kind })
  assert.deepEqual(claimsOf(api), [])
  const same = await Promise.allSettled(
    names.slice(0, 20).map((name) => create(api, name, { clusterIP: '10.96.0.9' })),
  )
  assert.equal(same.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const one of same) {
    if (one.status === 'fulfilled') continue
    const { code, message } = await refused(Promise.reject(one.reason as Error))
    assert.equal(code, 422, message)
  }
  assertClaimed(api)
})

async function touch(api: Fixture, name: string): Promise<JsonObject> {
  const body = { metadata: { labels: { touched: 'true' } } }
  return specOf((await api.patch({ kind, name, body })).object)
}

void test('a Service of an older version gets the cluster IP and the claims that it lacks when it is changed', async (t) => {
  const api = await opened(t)
  await storeOlder(api, 'old', { type: 'NodePort', ports: [{ ...storedPort, nodePort: 30_001 }] })
  await touch(api, 'old')
  assert.equal(claimsOf(api).length, 2)
  assertClaimed(api)
})

void test('a load balancer of an older version gets a port for health checks when it is changed', async (t) => {
  const api = await opened(t)
  await storeOlder(api, 'lb', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
  assert.notEqual(numberMember(await touch(api, 'lb'), 'healthCheckNodePort') ?? 0, 0)
  assertClaimed(api)
})

void test('a Service of an older version keeps its addresses, whichever families the ranges have', async (t) => {
  for (const cidrs of [['10.96.0.0/16', 'fd00::/112'], ['10.96.0.0/16'], ['fd00::/112']]) {
    const api = await opened(t, { ranges: serviceRanges(cidrs, '30000-30100') })
    for (const clusterIPs of [['10.96.0.5', 'fd00::5'], ['fd00::6'], ['10.96.0.7']]) {
      const name = `old${clusterIPs.length}${clusterIPs[0]?.includes(':') === true ? 'six' : 'four'}`
      await storeOlder(api, name, { clusterIP: clusterIPs[0] ?? '', clusterIPs })
      const spec = await touch(api, name)
      assert.deepEqual(textsMember(spec, 'clusterIPs'), clusterIPs)
      assert.equal(textsMember(spec, 'ipFamilies').length, clusterIPs.length)
      const policy = clusterIPs.length === 2 ? 'RequireDualStack' : 'SingleStack'
      assert.equal(textMember(spec, 'ipFamilyPolicy'), policy)
    }
    assertClaimed(api)
  }
})

void test('a Service whose own leftover claim is released while it takes the value claims it again', async (t) => {
  const interference = { before: async (): Promise<void> => undefined }
  const api = await opened(t, { wrap: (store) => new InterruptedStore(store, interference) })
  const { metadata } = await create(api, 'web', { type: 'NodePort' })
  const key = keyOfClaim('nodeport', '30123')
  await writeRaw(api, [claimOperation(key, metadata)])
  interference.before = async () => {
    interference.before = async () => undefined
    await writeRaw(api, [{ kind: 'delete', key, conditions: [] }])
  }
  await change(api, 'web', { ports: [{ port: 80, nodePort: 30_123 }] })
  assertClaimed(api)
})

/** A store that lets another write come first. */
class InterruptedStore extends ForwardingStore {
  readonly #interference: { before: () => Promise<void> }

  constructor(store: ObjectStore, interference: { before: () => Promise<void> }) {
    super(store)
    this.#interference = interference
  }

  override async write(command: Command, deadlineMs: number): Promise<Outcome> {
    await this.#interference.before()
    return super.write(command, deadlineMs)
  }
}
