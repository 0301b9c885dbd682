/*
 * Goal: Ingress, NetworkPolicy, EndpointSlice and PodDisruptionBudget follow the rules of upstream
 * 1.24. Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'
import type { BrokenRule } from './common/broken-rules.ts'

const backend = { service: { name: 'web', port: { number: 80 } } }
const metadata = { name: 'w' }

void test('an Ingress has rules or a default backend, with valid hosts, paths and ports', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'Ingress'
  const path = { path: '/a', pathType: 'Prefix', backend }
  const rule = { host: 'a.example.com', http: { paths: [path] } }
  const body = { metadata, spec: { rules: [rule] } }
  const ofPath = (more: JsonObject, cause: string, words = ''): BrokenRule => [
    { spec: { rules: [{ ...rule, http: { paths: [{ ...path, ...more }] } }] } },
    [cause],
    words,
  ]
  const at = 'spec.rules[0].http.paths[0]'
  const to = (service: JsonObject): JsonObject => ({ backend: { service } })
  const field = `${at}.backend`
  await refusesNew(api, { kind, body }, [
    [
      { spec: { rules: null } },
      ['FieldValueInvalid spec'],
      'either `defaultBackend` or `rules` must be specified',
    ],
    [
      { spec: { rules: [{ ...rule, host: '10.0.0.1' }] } },
      ['FieldValueInvalid spec.rules[0].host'],
      'not an IP address',
    ],
    [
      { spec: { rules: [{ ...rule, host: '*.*.com' }] } },
      ['FieldValueInvalid spec.rules[0].host'],
      'a wildcard DNS-1123',
    ],
    [{ spec: { rules: [{ ...rule, host: 'A_b' }] } }, ['FieldValueInvalid spec.rules[0].host']],
    [{ spec: { rules: [{ http: { paths: [] } }] } }, ['FieldValueRequired spec.rules[0].http.paths']],
    ofPath({ pathType: null }, `FieldValueRequired ${at}.pathType`, 'pathType must be specified'),
    ofPath({ pathType: 'Regex' }, `FieldValueNotSupported ${at}.pathType`),
    ofPath({ path: 'a' }, `FieldValueInvalid ${at}.path`, 'must be an absolute path'),
    ofPath({ path: '/a//b' }, `FieldValueInvalid ${at}.path`, "must not contain '//'"),
    ofPath({ path: '/a/..' }, `FieldValueInvalid ${at}.path`, "cannot end with '/..'"),
    ofPath({ backend: {} }, `FieldValueInvalid ${field}`, 'resource or service backend is required'),
    ofPath(to({ name: 'web' }), `FieldValueRequired ${field}`, 'port name or number is required'),
    ofPath(to({ name: 'Web', port: { number: 80 } }), `FieldValueInvalid ${field}.service.name`, 'DNS-1035'),
    ofPath(to({ name: 'web', port: { number: 70_000 } }), `FieldValueInvalid ${field}.service.port.number`),
    ofPath(
      to({ name: 'web', port: { number: 80, name: 'http' } }),
      `FieldValueInvalid ${field}`,
      'cannot set both port name & port number',
    ),
    ofPath(
      { backend: { ...backend, resource: { kind: 'Bucket', name: 'b' } } },
      `FieldValueInvalid ${field}`,
      'cannot set both resource and service backends',
    ),
    [{ spec: { tls: [{ hosts: ['A_b'] }] } }, ['FieldValueInvalid spec.tls[0].hosts[0]']],
    [{ spec: { ingressClassName: 'A_b' } }, ['FieldValueInvalid spec.ingressClassName']],
    [
      { metadata: { annotations: { 'orch.io/ingress.class': 'x' } }, spec: { ingressClassName: 'y' } },
      ['FieldValueInvalid annotations.orch.io/ingress.class'],
      'can not be set when the class field is also set',
    ],
  ])
  const more = ['b', 'c', 'd'].map((host) => ({ host, http: { paths: [path] } }))
  const { object } = await api.create({
    kind,
    body: {
      metadata,
      spec: { ingressClassName: 'nginx', tls: [{ secretName: 's' }], rules: [rule, ...more] },
    },
  })
  const shown = {
    Name: 'w',
    Class: 'nginx',
    Hosts: 'a.example.com,b,c + 1 more...',
    Address: '',
    Ports: '80, 443',
  }
  assert.deepEqual(cells(api, kind, object), shown)
  assert.deepEqual(object['status'], { loadBalancer: {} })
  const resource = { apiGroup: 'x.io', kind: 'Bucket', name: 'b' }
  await api.create({ kind, body: { metadata: { name: 'other' }, spec: { defaultBackend: { resource } } } })
})

void test('a NetworkPolicy has peers of one sort, and ports in ranges', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'NetworkPolicy'
  const body = { metadata, spec: { podSelector: { matchLabels: { app: 'web' } } } }
  const port = (of: JsonObject): JsonObject => ({ spec: { ingress: [{ ports: [of] }] } })
  const peer = (of: JsonObject): JsonObject => ({ spec: { egress: [{ to: [of] }] } })
  const [atPort, atPeer] = ['spec.ingress[0].ports[0]', 'spec.egress[0].to[0]']
  const block = (of: JsonObject): JsonObject => peer({ ipBlock: { cidr: '10.0.0.0/8', ...of } })
  await refusesNew(api, { kind, body }, [
    [port({ protocol: 'ICMP' }), [`FieldValueNotSupported ${atPort}.protocol`]],
    [port({ port: 70_000 }), [`FieldValueInvalid ${atPort}.port`]],
    [
      port({ endPort: 90 }),
      [`FieldValueInvalid ${atPort}.endPort`],
      'may not be specified when `port` is not specified',
    ],
    [
      port({ port: 'http', endPort: 90 }),
      [`FieldValueInvalid ${atPort}.endPort`],
      'when `port` is non-numeric',
    ],
    [
      port({ port: 91, endPort: 90 }),
      [`FieldValueInvalid ${atPort}.endPort`],
      'must be greater than or equal to `port`',
    ],
    [peer({}), [`FieldValueRequired ${atPeer}`], 'must specify a peer'],
    [
      peer({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
      [`FieldValueForbidden ${atPeer}`],
      'may not specify both ipBlock and another peer',
    ],
    [block({ cidr: '10.0.0.0' }), [`FieldValueInvalid ${atPeer}.ipBlock.cidr`], 'not a valid CIDR'],
    [
      block({ except: ['11.0.0.0/16'] }),
      [`FieldValueInvalid ${atPeer}.ipBlock.except[0]`],
      'must be a strict subset of `cidr`',
    ],
    [
      block({ except: ['10.0.0.0/8'] }),
      [`FieldValueInvalid ${atPeer}.ipBlock.except[0]`],
      'must be a strict subset',
    ],
    [{ spec: { policyTypes: ['All'] } }, ['FieldValueNotSupported spec.policyTypes[0]']],
    [
      { spec: { podSelector: { matchLabels: { 'a b': 'c' } } } },
      ['FieldValueInvalid spec.podSelector.matchLabels'],
    ],
  ])
  const { object } = await api.create({
    kind,
    body: { ...body, spec: { ...body.spec, egress: [{ to: [{ podSelector: {} }] }] } },
  })
  assert.deepEqual(objectMember(object, 'spec')['policyTypes'], ['Ingress', 'Egress'])
  assert.deepEqual(cells(api, kind, object), { Name: 'w', 'Pod-Selector': 'app=web' })
  const open = await api.create({ kind, body: { metadata: { name: 'all' }, spec: { podSelector: {} } } })
  assert.deepEqual(objectMember(open.object, 'spec')['policyTypes'], ['Ingress'])
  assert.deepEqual(cells(api, kind, open.object), { Name: 'all', 'Pod-Selector': '<none>' })
})

void test('a disruption budget has one limit, and a valid status', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'policy/v1/PodDisruptionBudget'
  const body = { metadata, spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } } }
  await refusesNew(api, { kind, body }, [
    [
      { spec: { maxUnavailable: 1 } },
      ['FieldValueInvalid spec'],
      'minAvailable and maxUnavailable cannot be both set',
    ],
    [
      { spec: { minAvailable: '101%' } },
      ['FieldValueInvalid spec.minAvailable'],
      'must not be greater than 100%',
    ],
    [
      { spec: { minAvailable: -1 } },
      ['FieldValueInvalid spec.minAvailable'],
      'must be greater than or equal to 0',
    ],
    [{ spec: { minAvailable: 'some' } }, ['FieldValueInvalid spec.minAvailable'], 'a valid percent string'],
  ])
  const { object } = await api.create({ kind, body })
  assert.deepEqual(cells(api, kind, object), {
    ...{ Name: 'w', 'Min Available': '2', 'Max Unavailable': 'N/A', 'Allowed Disruptions': 0 },
  })
  const call = { kind, name: 'w', subresource: 'status' }
  const condition = { type: 'Ready', status: 'Maybe', reason: '1', message: '', lastTransitionTime: null }
  await refusesChange(api, call, [
    [{ status: { currentHealthy: -1 } }, ['FieldValueInvalid status.currentHealthy']],
    [
      { status: { conditions: [condition] } },
      [
        'FieldValueNotSupported status.conditions[0].status',
        'FieldValueRequired status.conditions[0].lastTransitionTime',
        'FieldValueInvalid status.conditions[0].reason',
      ],
    ],
  ])
})

void test('an empty selector of a budget selects no Pod in v1beta1 and every Pod in v1', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const [stable, beta] = ['policy/v1/PodDisruptionBudget', 'policy/v1beta1/PodDisruptionBudget']
  const key = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match'
  const selectorOf = async (kind: string, name: string) =>
    objectMember((await api.get({ kind, name })).object, 'spec')['selector']
  await api.create({ kind: beta, body: { metadata: { name: 'none' }, spec: { selector: {} } } })
  await api.create({ kind: stable, body: { metadata: { name: 'all' }, spec: { selector: {} } } })
  assert.deepEqual(await selectorOf(beta, 'none'), {})
  assert.deepEqual(await selectorOf(stable, 'none'), { matchExpressions: [{ key, operator: 'Exists' }] })
  assert.deepEqual(await selectorOf(stable, 'all'), {})
  assert.deepEqual(await selectorOf(beta, 'all'), { matchExpressions: [{ key, operator: 'DoesNotExist' }] })
})

void test('an EndpointSlice has addresses of one type, and each port name once', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'discovery.orch.io/v1/EndpointSlice'
  const body = {
    metadata,
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'] }],
    ports: [{ port: 80 }],
  }
  const endpoint = (more: JsonObject): JsonObject => ({ endpoints: [{ addresses: ['10.0.0.1'], ...more }] })
  const at = 'endpoints[0]'
  await refusesNew(api, { kind, body }, [
    [{ addressType: null }, ['FieldValueRequired addressType']],
    [{ addressType: 'MAC' }, ['FieldValueNotSupported addressType']],
    [{ addressType: 'IPv6' }, [`FieldValueInvalid ${at}.addresses[0]`], 'must be a valid IPv6 address'],
    [endpoint({ addresses: ['127.0.0.1'] }), [`FieldValueInvalid ${at}.addresses[0]`], 'loopback range'],
    [endpoint({ addresses: [] }), [`FieldValueRequired ${at}.addresses`]],
    [endpoint({ addresses: Array(101).fill('10.0.0.1') }), [`FieldValueTooMany ${at}.addresses`]],
    [endpoint({ hostname: 'A' }), [`FieldValueInvalid ${at}.hostname`]],
    [
      endpoint({ hints: { forZones: [{ name: 'a' }, { name: 'a' }] } }),
      [`FieldValueDuplicate ${at}.hints.forZones[1]`],
    ],
    [{ ports: [{ port: 1 }, { port: 2 }] }, ['FieldValueDuplicate ports[1].name']],
    [{ ports: [{ port: 0 }] }, ['FieldValueInvalid ports[0].port']],
  ])
  const { object } = await api.create({ kind, body })
  assert.deepEqual(object['ports'], [{ name: '', port: 80, protocol: 'TCP' }])
  const shown = { Name: 'w', AddressType: 'IPv4', Ports: '80', Endpoints: '10.0.0.1' }
  assert.deepEqual(cells(api, kind, object), shown)
  await refusesChange(api, { kind, name: 'w' }, [
    [{ addressType: 'FQDN', endpoints: [] }, ['FieldValueInvalid addressType'], 'field is immutable'],
  ])
})

void test('the generation of an EndpointSlice counts changes of its endpoints and of its labels', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'discovery.orch.io/v1/EndpointSlice'
  const labels = { a: 'b' }
  const body = { metadata: { name: 'w', labels }, addressType: 'IPv4', endpoints: [] }
  const made = await api.create({ kind, body })
  assert.equal(made.object.metadata.generation, 1)
  for (const [change, generation] of [
    [{ metadata: { annotations: { c: 'd' } } }, 1],
    [{ metadata: { labels } }, 1],
    [{ metadata: { labels: { a: 'e' } } }, 2],
    [{ metadata: { labels: null } }, 3],
    [{ metadata: { labels: {} } }, 3],
    [{ endpoints: [{ addresses: ['10.0.0.1'] }] }, 4],
  ] as const) {
    const { object } = await api.patch({ kind, name: 'w', body: change })
    assert.equal(object.metadata.generation, generation, JSON.stringify(change))
  }
})

void test('the zone of an endpoint is a label of its topology in v1beta1', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const [stable, beta] = ['v1', 'v1beta1'].map((version) => `discovery.orch.io/${version}/EndpointSlice`)
  const topology = { 'topology.orch.io/zone': 'east', 'example.com/rack': 'r1' }
  const endpoints = [{ addresses: ['10.0.0.1'], conditions: {}, topology }]
  await api.create({ kind: beta ?? '', body: { metadata, addressType: 'IPv4', endpoints } })
  const { object } = await api.get({ kind: stable ?? '', name: 'w' })
  assert.deepEqual(object['endpoints'], [
    {
      addresses: ['10.0.0.1'],
      conditions: {},
      deprecatedTopology: { 'example.com/rack': 'r1' },
      zone: 'east',
    },
  ])
  const old = await api.get({ kind: beta ?? '', name: 'w' })
  assert.deepEqual(old.object['endpoints'], endpoints)
})
