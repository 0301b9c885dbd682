/*
 * Goal: the plugins that decide by the user, the rate or the owners of an object decide as those of
 * upstream 1.24.
 * Method: the shipped plugins and verbs in memory, a table for each plugin.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { eventRateLimit, readEventLimits } from '../../../../src/admission/event-rate-limit.ts'
import { forbiddenNodeLabels } from '../../../../src/admission/node-labels.ts'
import { nodeRestriction } from '../../../../src/admission/node-restriction.ts'
import { ownerReferencesPermissionEnforcement } from '../../../../src/admission/owner-references.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { rbac } from '../../../../src/auth/rbac.ts'
import { reviewersOf } from '../../../../src/auth/reviewers.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { Fixture, ManualClock, refused } from '../registry/fixture.ts'

const names = namesOf('k8s.io')
const node = { name: 'system:node:n1', uid: '', groups: ['system:nodes'], extra: {} }

void test('spec 5.9: a node writes its own objects only, of Pods, Nodes, Leases and CSINodes', async (t) => {
  const api = await Fixture.open({
    domain: 'k8s.io',
    admission: admissionChain([nodeRestriction({ names })]),
  })
  t.after(() => api.close())
  const containers = [{ name: 'c', image: 'i' }]
  const podOf = (name: string, nodeName: string, metadata: JsonObject = {}): JsonObject => ({
    metadata: { name, ...metadata },
    spec: { nodeName, containers },
  })
  await api.create({ kind: 'Node', user: node, body: { metadata: { name: 'n1' } } })
  const { object: own } = await api.get({ kind: 'Node', name: 'n1' })
  await api.create({ kind: 'Node', body: { metadata: { name: 'n2' } } })
  await api.create({ kind: 'Pod', body: podOf('mine', 'n1') })
  await api.create({ kind: 'Pod', body: podOf('other', 'n2') })
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: own.metadata.uid ?? '', controller: true }
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [owner] }
  const restricted = { 'node-restriction.kubernetes.io/a': 'b' }
  const create = (kind: string, body: JsonObject): Promise<unknown> => api.create({ kind, user: node, body })
  const status = (kind: string, name: string, body: JsonObject): Promise<unknown> =>
    api.patch({ kind, name, user: node, subresource: 'status', body })
  const lease = (namespace: string, name: string): Promise<unknown> =>
    api.create({ kind: 'Lease', user: node, namespace, body: { metadata: { name, namespace } } })
  for (const [call, words] of [
    [() => create('Pod', podOf('a', 'n1')), /node "n1" can only create mirror pods$/],
    [
      () => create('Pod', podOf('a', 'n2', mirror)),
      /can only create pods with spec\.nodeName set to itself$/,
    ],
    [
      () => create('Pod', podOf('a', 'n1', { ...mirror, ownerReferences: [] })),
      /with an owner reference set to itself$/,
    ],
    [
      () => create('Pod', podOf('a', 'n1', { ...mirror, ownerReferences: [{ ...owner, uid: 'x' }] })),
      /node n1 UID mismatch/,
    ],
    [() => create('Node', { metadata: { name: 'n3' } }), /node "n1" is not allowed to modify node "n3"$/],
    [
      () => create('Node', { metadata: { name: 'n1', labels: restricted } }),
      /not allowed to set the following labels: node-restriction\.kubernetes\.io\/a$/,
    ],
    [
      () =>
        api.patch({
          kind: 'Node',
          name: 'n1',
          user: node,
          body: { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
        }),
      /node "n1" is not allowed to modify taints$/,
    ],
    [
      () => api.patch({ kind: 'Node', name: 'n1', user: node, body: { metadata: { labels: restricted } } }),
      /is not allowed to modify labels/,
    ],
    [
      () => status('Pod', 'other', { status: { phase: 'Running' } }),
      /can only update pod status for pods with spec\.nodeName set to itself$/,
    ],
    [
      () => status('Pod', 'mine', { metadata: { labels: { a: 'b' } } }),
      /cannot update labels through pod status$/,
    ],
    [
      () => api.delete({ kind: 'Pod', name: 'other', user: node }),
      /can only delete pods with spec\.nodeName set to itself$/,
    ],
    [() => lease('default', 'n1'), /can only access leases in the "kube-node-lease" system namespace$/],
    [
      () => lease('kube-node-lease', 'n2'),
      /can only access node lease with the same name as the requesting node$/,
    ],
    [
      () => create('CSINode', { metadata: { name: 'n2' }, spec: { drivers: [] } }),
      /can only access CSINode with the same name/,
    ],
  ] as const) {
    const seen = await refused(call())
    assert.equal(seen.code, 403)
    assert.match(seen.message, words)
  }
  await create('Pod', podOf('mirror', 'n1', mirror))
  await status('Pod', 'mine', { status: { phase: 'Running' } })
  await lease('kube-node-lease', 'n1')
  await create('CSINode', { metadata: { name: 'n1' }, spec: { drivers: [] } })
  await api.delete({ kind: 'Pod', name: 'mine', user: node })
  await create('ConfigMap', { metadata: { name: 'x' } })
})

void test('spec 5.9: a node may not change the owners of its Node, so that the garbage collector does not delete it', async (t) => {
  const api = await Fixture.open({
    domain: 'k8s.io',
    admission: admissionChain([nodeRestriction({ names })]),
  })
  t.after(() => api.close())
  // Registered again, a deleted Node would be without the taints that an administrator gave it.
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Namespace', name: 'gone', uid: 'gone' }]
  const words = /node "n1" is not allowed to modify ownerReferences$/
  const body = { metadata: { name: 'n1', ownerReferences } }
  assert.match((await refused(api.create({ kind: 'Node', user: node, body }))).message, words)
  await api.create({ kind: 'Node', user: node, body: { metadata: { name: 'n1' } } })
  for (const subresource of [undefined, 'status']) {
    const at = subresource === undefined ? {} : { subresource }
    const own = api.patch({
      kind: 'Node',
      name: 'n1',
      user: node,
      ...at,
      body: { metadata: { ownerReferences } },
    })
    assert.match((await refused(own)).message, words)
  }
  await api.patch({ kind: 'Node', name: 'n1', body: { metadata: { ownerReferences } } })
  const labelled = { metadata: { labels: { a: 'b' } } }
  assert.equal((await api.patch({ kind: 'Node', name: 'n1', user: node, body: labelled })).code, 200)
  const freed = api.patch({
    kind: 'Node',
    name: 'n1',
    user: node,
    body: { metadata: { ownerReferences: null } },
  })
  assert.match((await refused(freed)).message, words)
})

void test('spec 5.9: of the labels in the domains of the API a node may set only those that upstream permits to nodes', () => {
  const bad = [
    'kubernetes.io/x',
    'a.k8s.io/x',
    'node-restriction.kubernetes.io/x',
    'node-role.kubernetes.io/master',
  ]
  const good = [
    'x',
    'example.com/x',
    'kubernetes.io/os',
    'topology.kubernetes.io/zone',
    'node.kubernetes.io/x',
    'kubelet.kubernetes.io/x',
    'beta.kubernetes.io/arch',
  ]
  const labels = Object.fromEntries([...bad, ...good].map((key) => [key, 'v']))
  assert.deepEqual(forbiddenNodeLabels(labels, {}, names), [...bad].sort())
  assert.deepEqual(forbiddenNodeLabels(labels, labels, names), [])
})

void test('spec 5.9: a change of owners needs permission to delete the object, and blockOwnerDeletion permission for the finalizers of the owner', async (t) => {
  const rule = (verbs: string, resource: string) => ({
    verbs: [verbs],
    apiGroups: [''],
    resources: [resource],
  })
  const authorizer = rbac({
    version: 1,
    clusterGrants: ({ name }) =>
      name === 'none'
        ? []
        : [
            {
              rules: [
                name === 'deletes' ? rule('delete', 'configmaps') : rule('update', 'secrets/finalizers'),
              ],
            },
          ],
    namespaceGrants: () => [],
  })
  const reviewers = reviewersOf({ authorizer, tokens: [], audiences: [] })
  const kindOf = (apiVersion: string, kind: string) =>
    apiVersion === 'v1' && kind === 'Secret'
      ? ({ group: '', version: 'v1', plural: 'secrets', scope: 'Namespaced' } as const)
      : null
  const plugin = ownerReferencesPermissionEnforcement({ clock: systemClock, reviewers, kindOf })
  const api = await Fixture.open({ domain: 'k8s.io', admission: admissionChain([plugin]) })
  t.after(() => api.close())
  const userOf = (name: string) => ({ name, uid: '', groups: [], extra: {} })
  const owner = { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u' }
  await api.configMap('a')
  const own = (name: string, more: JsonObject = {}) =>
    api.patch({
      name: 'a',
      user: userOf(name),
      body: { metadata: { ownerReferences: [{ ...owner, ...more }] } },
    })
  assert.match((await refused(own('none'))).message, /cannot set an ownerRef on a resource you can't delete/)
  assert.equal((await own('deletes')).code, 200)
  const block = { blockOwnerDeletion: true }
  assert.match((await refused(own('deletes', block))).message, /a resource you can't set finalizers on/)
  const body = { metadata: { name: 'b', ownerReferences: [{ ...owner, ...block }] } }
  assert.equal((await api.create({ user: userOf('finalizes'), body })).code, 201)
  const unknown = { metadata: { name: 'c', ownerReferences: [{ ...owner, ...block, kind: 'X' }] } }
  assert.match(
    (await refused(api.create({ body: unknown }))).message,
    /cannot find RESTMapping for APIVersion v1 Kind X/,
  )
})

void test('the permissions of thousands of owners are checked while other requests run', async (t) => {
  let checks = 0
  const reviewers = {
    authorize: () => {
      checks++
      return { allowed: true, denied: false, reason: '' }
    },
  }
  let lookUps = 0
  const kindOf = () => {
    lookUps++
    return { group: '', version: 'v1', plural: 'secrets', scope: 'Namespaced' } as const
  }
  const plugin = ownerReferencesPermissionEnforcement({ clock: systemClock, reviewers, kindOf })
  const api = await Fixture.open({ domain: 'k8s.io', admission: admissionChain([plugin]) })
  t.after(() => api.close())
  const owner = { apiVersion: 'v1', kind: 'Secret', name: 's', blockOwnerDeletion: true }
  const ownerReferences = Array.from({ length: 2000 }, (_, at) => ({ ...owner, uid: `u${at}` }))
  const created = api.create({ body: { metadata: { name: 'a', ownerReferences } } })
  const seen: number[] = []
  let isDone = false
  void created.finally(() => (isDone = true))
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    if (checks > 0 && checks < 2000) seen.push(checks)
  }
  assert.equal((await created).code, 201)
  assert.deepEqual([checks, lookUps], [2000, 1])
  assert.ok(seen.length >= 15, `other work ran ${seen.length} times`)
})

void test('spec 5.9: events beyond a limit are refused with 429 until there are tokens again', async (t) => {
  const clock = new ManualClock()
  const limits = readEventLimits(
    {
      limits: [
        { type: 'Namespace', qps: 1, burst: 2 },
        { type: 'User', qps: 10, burst: 3, cacheSize: 1 },
      ],
    },
    (words) => assert.fail(words),
  )
  const admission = admissionChain([eventRateLimit({ names, clock, limits })])
  const api = await Fixture.open({ domain: 'k8s.io', admission })
  t.after(() => api.close())
  let count = 0
  const event = (): ReturnType<Fixture['create']> =>
    api.create({
      kind: 'v1/Event',
      body: { metadata: { name: `e${count++}` }, involvedObject: { namespace: 'default' } },
    })
  await event()
  await event()
  const seen = await refused(event())
  assert.deepEqual([seen.code, seen.message], [429, 'limit reached on type Namespace for key default'])
  assert.equal(
    (await refused(event())).message,
    '[limit reached on type Namespace for key default, limit reached on type User for key tester]',
  )
  assert.equal((await api.configMap('a')).code, 201)
  clock.advance(1000)
  assert.equal((await event()).code, 201)
  const problems: string[] = []
  readEventLimits(
    { limits: [{ type: 'Pod', qps: 0, burst: 1, cachesize: 5 }] },
    (words) => void problems.push(words),
  )
  assert.deepEqual(problems, [
    'limits[0].cachesize: unknown field',
    'limits[0].type: must be one of Server, Namespace, User, SourceAndObject',
    'limits[0].qps: must be a whole number from 1 to 1000000',
  ])
})

void test('a dry run takes no token of a limit of events, and is not refused by one', async (t) => {
  const limits = [{ type: 'Server', qps: 1, burst: 1, cacheSize: 1 }] as const
  const plugin = eventRateLimit({ names, clock: new ManualClock(), limits })
  const api = await Fixture.open({ domain: 'k8s.io', admission: admissionChain([plugin]) })
  t.after(() => api.close())
  const event = (name: string, query: Record<string, string>): ReturnType<Fixture['create']> =>
    api.create({
      kind: 'v1/Event',
      body: { metadata: { name }, involvedObject: { namespace: 'default' } },
      query,
    })
  assert.equal((await event('a', { dryRun: 'All' })).code, 201)
  assert.equal((await event('a', {})).code, 201)
  assert.equal((await event('b', { dryRun: 'All' })).code, 201)
  assert.equal((await refused(event('b', {}))).code, 429)
})

void test('events of different sources about an object have limits of their own, in both groups', async (t) => {
  const limits = [{ type: 'SourceAndObject', qps: 1, burst: 1, cacheSize: 9 }] as const
  const plugin = eventRateLimit({ names, clock: new ManualClock(), limits })
  const api = await Fixture.open({ domain: 'k8s.io', admission: admissionChain([plugin]) })
  t.after(() => api.close())
  let count = 0
  const object = { kind: 'Pod', namespace: 'default', name: 'p' }
  const core = (component: string): ReturnType<Fixture['create']> => {
    const metadata = { name: `a${count++}` }
    const source = { component, host: 'h' }
    return api.create({ kind: 'v1/Event', body: { metadata, involvedObject: object, source } })
  }
  const inGroup = (reportingController: string): ReturnType<Fixture['create']> => {
    const metadata = { name: `b${count++}` }
    const what = { reason: 'r', action: 'a', type: 'Normal', eventTime: '2026-01-01T00:00:00.000000Z' }
    const by = { reportingController, reportingInstance: 'h' }
    const kind = 'events.k8s.io/v1/Event'
    return api.create({ kind, body: { metadata, regarding: object, ...what, ...by } })
  }
  for (const source of ['example.com/a', 'example.com/b']) {
    assert.equal((await inGroup(source)).code, 201)
    assert.equal((await refused(inGroup(source))).code, 429)
    assert.match(
      (await refused(core(source))).message,
      /limit reached on type SourceAndObject for key example/,
    )
  }
  assert.equal((await core('scheduler')).code, 201)
  assert.equal((await refused(core('scheduler'))).code, 429)
})

void test('spec 5.9: EventRateLimit distinguishes long sources, and keeps and shows only their beginning', async (t) => {
  const limits = [{ type: 'SourceAndObject', qps: 1, burst: 1, cacheSize: 4096 }] as const
  const clock = new ManualClock()
  const admission = admissionChain([eventRateLimit({ names, clock, limits })])
  const api = await Fixture.open({ domain: 'k8s.io', admission })
  t.after(() => api.close())
  let count = 0
  const event = (host: string): ReturnType<Fixture['create']> =>
    api.create({
      kind: 'v1/Event',
      body: {
        metadata: { name: `e${count++}` },
        involvedObject: { namespace: 'default' },
        source: { host },
      },
    })
  const long = 'h'.repeat(5000)
  await event(`${long}1`)
  await event(`${long}2`)
  const { message } = await refused(event(`${long}2`))
  assert.match(message, /^limit reached on type SourceAndObject for key h+/)
  assert.ok(message.length < 400, String(message.length))
})
