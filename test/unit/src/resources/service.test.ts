/*
 * Goal: Services and Endpoints follow the rules of upstream 1.24.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memberOf, objectMember, objectsMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'
import type { BrokenRule } from './common/broken-rules.ts'

const kind = 'Service'
const ports = [{ port: 80 }]
const body = { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports } }

function withSpec(spec: JsonObject): JsonObject {
  return { metadata: { name: 'web' }, spec: { ports, ...spec } }
}

const of = (spec: JsonObject, field: string, words = ''): BrokenRule => [{ spec }, [field], words]

void test('a Service has named ports, each once, with valid targets', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const at = 'spec.ports'
  await refusesNew(api, { kind, body }, [
    [{ metadata: { name: '1web' } }, ['FieldValueInvalid metadata.name'], 'a DNS-1035 label must consist of'],
    of({ ports: null }, `FieldValueRequired ${at}`),
    of({ ports: [{ port: 80 }, { port: 81, name: 'b' }] }, `FieldValueRequired ${at}[0].name`),
    of({ ports: [{ port: 80, name: 'B' }] }, `FieldValueInvalid ${at}[0].name`, 'RFC 1123 label'),
    of(
      {
        ports: [
          { port: 80, name: 'a' },
          { port: 81, name: 'a' },
        ],
      },
      `FieldValueDuplicate ${at}[1].name`,
    ),
    of(
      {
        ports: [
          { port: 80, name: 'a' },
          { port: 80, name: 'b' },
        ],
      },
      `FieldValueDuplicate ${at}[1]`,
    ),
    of(
      { ports: [{ port: 70_000, targetPort: 80 }] },
      `FieldValueInvalid ${at}[0].port`,
      'must be between 1 and 65535',
    ),
    of({ ports: [{ port: 80, targetPort: 70_000 }] }, `FieldValueInvalid ${at}[0].targetPort`),
    of(
      { ports: [{ port: 80, targetPort: 'a--b' }] },
      `FieldValueInvalid ${at}[0].targetPort`,
      'consecutive hyphens',
    ),
    of({ ports: [{ port: 80, protocol: 'HTTP' }] }, `FieldValueNotSupported ${at}[0].protocol`),
    of({ ports: [{ port: 80, appProtocol: 'a b' }] }, `FieldValueInvalid ${at}[0].appProtocol`),
    of(
      { ports: [{ port: 80, nodePort: 30_000 }] },
      `FieldValueForbidden ${at}[0].nodePort`,
      "may not be used when `type` is 'ClusterIP'",
    ),
    of(
      { type: 'LoadBalancer', ports: [{ port: 10_250 }] },
      `FieldValueInvalid ${at}[0]`,
      'may not expose port 10250 externally since it is used by kubelet',
    ),
  ])
  const twice = [
    { port: 80, name: 'a', nodePort: 30_000 },
    { port: 81, name: 'b', nodePort: 30_000 },
  ]
  await refusesNew(api, { kind, body }, [
    of({ type: 'NodePort', ports: twice }, `FieldValueDuplicate ${at}[1].nodePort`),
  ])
})

void test('a Service has members of its type only', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const onlyBalancers = "may only be used when `type` is 'LoadBalancer'"
  await refusesNew(api, { kind, body }, [
    of({ type: 'Other' }, 'FieldValueNotSupported spec.type'),
    of({ type: 'ExternalName' }, 'FieldValueRequired spec.externalName'),
    of({ type: 'ExternalName', externalName: 'A_b' }, 'FieldValueInvalid spec.externalName'),
    of({ sessionAffinity: 'Always' }, 'FieldValueNotSupported spec.sessionAffinity'),
    of(
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
      'FieldValueInvalid spec.sessionAffinityConfig.clientIP.timeoutSeconds',
    ),
    of({ selector: { 'a b': 'c' } }, 'FieldValueInvalid spec.selector'),
    of(
      { loadBalancerSourceRanges: ['10.0.0.0/8'] },
      'FieldValueForbidden spec.LoadBalancerSourceRanges',
      onlyBalancers,
    ),
    of(
      { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0'] },
      'FieldValueInvalid spec.LoadBalancerSourceRanges',
      'must be a list of IP ranges',
    ),
    of({ loadBalancerClass: 'x.io/a' }, 'FieldValueForbidden spec.loadBalancerClass', onlyBalancers),
    of(
      { allocateLoadBalancerNodePorts: true },
      'FieldValueForbidden spec.allocateLoadBalancerNodePorts',
      onlyBalancers,
    ),
    of(
      { externalTrafficPolicy: 'Local' },
      'FieldValueInvalid spec.externalTrafficPolicy',
      'ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service',
    ),
    of({ type: 'NodePort', healthCheckNodePort: 30_001 }, 'FieldValueInvalid spec.healthCheckNodePort'),
    of(
      { externalIPs: ['10.0.0.300'] },
      'FieldValueInvalid spec.externalIPs[0]',
      'must be a valid IP address',
    ),
    of(
      { externalIPs: ['127.0.0.1'] },
      'FieldValueInvalid spec.externalIPs[0]',
      'may not be in the loopback range',
    ),
    of({ externalIPs: ['0.0.0.0'] }, 'FieldValueInvalid spec.externalIPs[0]', 'may not be unspecified'),
  ])
})

void test('the cluster addresses of a Service are one of each family, and fit its families', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const at = 'spec.clusterIPs'
  const [four, six] = ['10.0.0.1', 'fd00::1']
  await refusesNew(api, { kind, body }, [
    of({ clusterIPs: [four] }, `FieldValueInvalid ${at}`, 'must be empty when `clusterIP` is not specified'),
    of(
      { clusterIP: four, clusterIPs: ['10.0.0.2'] },
      `FieldValueInvalid ${at}`,
      'first value must match `clusterIP`',
    ),
    of({ clusterIP: 'x' }, `FieldValueInvalid ${at}[0]`, 'must be a valid IP address'),
    of(
      { clusterIP: 'None', clusterIPs: ['None', four] },
      `FieldValueInvalid ${at}`,
      "'None' must be the first and only value",
    ),
    of(
      { clusterIP: four, clusterIPs: [four, '10.0.0.2'] },
      `FieldValueInvalid ${at}`,
      'no more than one IP for each IP family',
    ),
    of(
      { clusterIP: four, clusterIPs: [four, six, '::3'] },
      `FieldValueInvalid ${at}`,
      'may only hold up to 2 values',
    ),
    of({ clusterIP: six, ipFamilies: ['IPv4'] }, `FieldValueInvalid ${at}[0]`, 'expected an IPv4 value'),
    of({ ipFamilies: ['IPv4', 'IPv4'] }, 'FieldValueDuplicate spec.ipFamilies[1]'),
    of({ ipFamilies: ['IPv5'] }, 'FieldValueNotSupported spec.ipFamilies[0]'),
    of({ ipFamilyPolicy: 'Both' }, 'FieldValueNotSupported spec.ipFamilyPolicy'),
    of(
      { type: 'NodePort', clusterIP: 'None' },
      `FieldValueInvalid ${at}[0]`,
      "may not be set to 'None' for NodePort services",
    ),
  ])
  const both = { clusterIP: four, clusterIPs: [four, six], ipFamilyPolicy: 'RequireDualStack' }
  await api.create({ kind, body: withSpec(both) })
  const change = { kind, name: 'web' }
  await refusesChange(api, change, [
    of({ clusterIP: '10.0.0.9' }, `FieldValueInvalid ${at}[0]`, 'may not change once set'),
    of({ clusterIPs: [four] }, 'FieldValueInvalid spec.ipFamilyPolicy', "must be 'SingleStack' to release"),
  ])
  const single = await api.patch({
    ...change,
    body: { spec: { clusterIPs: [four], ipFamilyPolicy: 'SingleStack' } },
  })
  assert.deepEqual(objectMember(single.object, 'spec')['clusterIPs'], [four])
})

void test('a new Service has the defaults of its type and of the ranges', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.create({
    kind,
    body: { ...body, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
  })
  const { clusterIP, clusterIPs, ...others } = objectMember(object, 'spec')
  assert.deepEqual(others, {
    ...{
      selector: { app: 'web' },
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    },
    ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
  })
  assert.deepEqual(clusterIPs, [clusterIP])
  assert.deepEqual(object['status'], { loadBalancer: {} })
  assert.deepEqual(cells(api, kind, object), {
    ...{ Name: 'web', Type: 'ClusterIP', 'Cluster-IP': clusterIP, 'External-IP': '<none>' },
    ...{ 'Port(s)': '80/TCP', Selector: 'app=web' },
  })
  const balanced = await api.create({
    kind,
    body: {
      metadata: { name: 'lb' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80, nodePort: 30_080 }], clusterIP: '10.0.0.5' },
    },
  })
  assert.equal(memberOf(objectMember(balanced.object, 'spec'), 'allocateLoadBalancerNodePorts'), true)
  assert.equal(memberOf(objectMember(balanced.object, 'spec'), 'externalTrafficPolicy'), 'Cluster')
  assert.equal(cells(api, kind, balanced.object)['External-IP'], '<pending>')
  const call = { kind, name: 'lb', subresource: 'status' }
  await refusesChange(api, call, [
    [
      { status: { loadBalancer: { ingress: [{ ip: 'x' }] } } },
      ['FieldValueInvalid status.loadBalancer.ingress[0].ip'],
    ],
    [
      { status: { loadBalancer: { ingress: [{ hostname: '10.0.0.1' }] } } },
      ['FieldValueInvalid status.loadBalancer.ingress[0].hostname'],
      'must be a DNS name, not an IP address',
    ],
  ])
  const ingress = [{ ip: '192.0.2.1' }, { hostname: 'lb.example.com' }]
  const shown = await api.patch({ ...call, body: { status: { loadBalancer: { ingress } } } })
  const { 'External-IP': external, 'Port(s)': shownPorts } = cells(api, kind, shown.object)
  assert.deepEqual([external, shownPorts], ['192.0.2.1,lb.example.com', '80:30080/TCP'])
})

void test('an update of a Service keeps addresses and ports that it leaves out, and drops those of its old type', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const spec = { type: 'NodePort', clusterIP: '10.0.0.5', ports: [{ port: 80, nodePort: 30_080 }] }
  const { object } = await api.create({ kind, body: withSpec(spec) })
  const sent = {
    metadata: { name: 'web', resourceVersion: object.metadata.resourceVersion ?? '' },
    spec: { type: 'NodePort', ports },
  }
  const replaced = await api.update({ kind, name: 'web', body: sent })
  const kept = objectMember(replaced.object, 'spec')
  assert.deepEqual([kept['clusterIP'], kept['clusterIPs']], ['10.0.0.5', ['10.0.0.5']])
  assert.equal(objectsMember(kept, 'ports')[0]?.['nodePort'], 30_080)
  const inner = await api.patch({ kind, name: 'web', body: { spec: { type: 'ClusterIP' } } })
  const changed = objectMember(inner.object, 'spec')
  assert.equal(objectsMember(changed, 'ports')[0]?.['nodePort'], undefined)
  assert.equal(changed['externalTrafficPolicy'], undefined)
  const named = { type: 'ExternalName', externalName: 'example.com.' }
  const outer = await api.patch({ kind, name: 'web', body: { spec: named } })
  assert.deepEqual(
    ['clusterIP', 'clusterIPs'].map((name) => memberOf(objectMember(outer.object, 'spec'), name)),
    [undefined, undefined],
  )
  assert.equal(cells(api, kind, outer.object)['External-IP'], 'example.com.')
})

void test('the class of a load balancer does not change while the Service is one', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body: withSpec({ type: 'LoadBalancer', loadBalancerClass: 'x.io/a' }) })
  await refusesChange(api, { kind, name: 'web' }, [
    of(
      { loadBalancerClass: 'x.io/b' },
      'FieldValueInvalid spec.loadBalancerClass',
      'may not change once set',
    ),
  ])
})

void test('Endpoints have addresses that are not link-local, and named ports', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const subset = {
    addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }],
    ports: [
      { port: 80, name: 'a' },
      { port: 443, name: 'b' },
    ],
  }
  const endpoints = { metadata: { name: 'web' }, subsets: [subset] }
  const change = (more: JsonObject): JsonObject => ({ subsets: [{ ...subset, ...more }] })
  const at = 'subsets[0]'
  await refusesNew(api, { kind: 'Endpoints', body: endpoints }, [
    [
      change({ addresses: [] }),
      [`FieldValueRequired ${at}`],
      'must specify `addresses` or `notReadyAddresses`',
    ],
    [
      change({ addresses: [{ ip: 'x' }] }),
      [`FieldValueInvalid ${at}.addresses[0].ip`],
      'must be a valid IP address',
    ],
    [
      change({ addresses: [{ ip: '169.254.1.1' }] }),
      [`FieldValueInvalid ${at}.addresses[0].ip`],
      'link-local range',
    ],
    [
      change({ addresses: [{ ip: '10.0.0.1', hostname: 'A' }] }),
      [`FieldValueInvalid ${at}.addresses[0].hostname`],
    ],
    [change({ ports: [{ port: 1, name: 'a' }, { port: 2 }] }), [`FieldValueRequired ${at}.ports[1].name`]],
    [change({ ports: [{ port: 0 }] }), [`FieldValueInvalid ${at}.ports[0].port`]],
    [change({ ports: [{ port: 1, protocol: 'X' }] }), [`FieldValueNotSupported ${at}.ports[0].protocol`]],
  ])
  const { object } = await api.create({ kind: 'Endpoints', body: endpoints })
  assert.deepEqual(cells(api, 'Endpoints', object), {
    Name: 'web',
    Endpoints: '10.0.0.1:80,10.0.0.2:80,10.0.0.1:443 + 1 more...',
  })
})

void test('the Endpoints of a Service are removed with it, unless they have finalizers', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const finalizers = ['example.com/x']
  for (const [name, more] of [
    ...[['web', {}] as const, ['held', { finalizers }] as const],
    ...[['kept', {}] as const],
  ]) {
    await api.create({ kind, body: { ...body, metadata: { name } } })
    await api.create({ kind: 'Endpoints', body: { metadata: { name, ...more } } })
  }
  await api.delete({ kind, name: 'kept', query: { dryRun: 'All' } })
  for (const name of ['web', 'held']) await api.delete({ kind, name })
  const names = async (of: string): Promise<readonly unknown[]> =>
    (await api.list({ kind: of })).items.map(({ metadata }) => metadata.name)
  assert.deepEqual(await names(kind), ['kept'])
  assert.deepEqual(await names('Endpoints'), ['held', 'kept'])
  await api.patch({ kind, name: 'kept', body: { metadata: { finalizers } } })
  await api.delete({ kind, name: 'kept' })
  assert.deepEqual(await names('Endpoints'), ['held', 'kept'], 'the Service is still there')
  await api.patch({ kind, name: 'kept', body: { metadata: { finalizers: null } } })
  assert.deepEqual([await names(kind), await names('Endpoints')], [[], ['held']])
})

void test('Endpoints that get a finalizer while their Service is deleted stay', async (t) => {
  let inBetween: (() => Promise<unknown>) | null = null
  const wrap = (store: ObjectStore): ObjectStore =>
    new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        if (name !== 'write') return (value as () => unknown).bind(target)
        return async (...args: Parameters<ObjectStore['write']>) => {
          const act = inBetween
          inBetween = null
          await act?.()
          return target.write(...args)
        }
      },
    })
  const api = await Fixture.open({ wrap })
  t.after(() => api.close())
  await api.create({ kind, body: { ...body, metadata: { name: 'web' } } })
  await api.create({ kind: 'Endpoints', body: { metadata: { name: 'web' } } })
  const finalizers = ['example.com/x']
  inBetween = () => api.patch({ kind: 'Endpoints', name: 'web', body: { metadata: { finalizers } } })
  await api.delete({ kind, name: 'web' })
  const { items } = await api.list({ kind: 'Endpoints' })
  assert.deepEqual(
    items.map(({ metadata }) => metadata.finalizers),
    [finalizers],
  )
  assert.deepEqual((await api.list({ kind })).items, [])
})
