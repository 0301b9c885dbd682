/*
 * Goal: the default roles and bindings are stored where a member leads, lose nothing that an
 * operator added, and aggregated roles have the rules of the roles that they select.
 * Method: the shipped controllers on the shipped verbs, and a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { forbidden } from '../../../../src/api/errors/standard-errors.ts'
import { objectMember, objectsMember, textsMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { defaultPolicy } from '../../../../src/auth/bootstrap/default-policy.ts'
import { policyObjects } from '../../../../src/auth/bootstrap/policy-objects.ts'
import { missingRules } from '../../../../src/auth/missing-rules.ts'
import { clusterRoleAggregation } from '../../../../src/controllers/cluster-role-aggregation.ts'
import { defaultPolicyController } from '../../../../src/controllers/default-policy.ts'
import type { PolicyWrites } from '../../../../src/controllers/default-policy.ts'
import type { AdmissionRequest } from '../../../../src/registry/calls/admission.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { resourceOf } from '../../../../src/registry/kinds/definition.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'
import { parseStored } from '../../../../src/registry/kinds/encode.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { FixtureOptions, Obj } from '../registry/fixture.ts'
import { recorderOf } from './recorded-events.ts'

const autoupdate = 'rbac.authorization.orch.io/autoupdate'
const aggregateToView = 'rbac.authorization.orch.io/aggregate-to-view'
const nothing: PolicyWrites = { create: 0, update: 0, recreate: 0 }

/** A member and what its controllers reported. */
class Member {
  readonly api: Fixture
  readonly errors: unknown[] = []
  readonly reconciled: PolicyWrites[] = []

  private constructor(api: Fixture) {
    this.api = api
  }

  static async open(t: TestContext, options: FixtureOptions = {}): Promise<Member> {
    const api = await Fixture.open(options)
    t.after(() => api.close())
    return new Member(api)
  }

  /** Leads until writes end, and stops. @returns the writes of default roles and bindings */
  async lead(): Promise<PolicyWrites> {
    const stop = this.start()
    const before = this.reconciled.length
    await this.until(() => this.reconciled.length > before)
    await this.settle()
    stop()
    return this.reconciled.at(-1) ?? nothing
  }

  start(): () => void {
    const { clock, names, catalog, registry, store } = this.api
    const groups = ['system:masters']
    const user = { name: 'system:apiserver', uid: '', groups, extra: {} }
    const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
    const prefix = prefixOf({ group: 'rbac.authorization.orch.io', plural: 'clusterroles', namespace: null })
    const clusterRoles = new Informer<AnyObject>({ store, clock, prefix, parse: parseStored })
    const onError = (name: string, cause: unknown): void => void this.errors.push([name, cause])
    const parts = { clock, names, catalog, client, onError }
    const aggregation = clusterRoleAggregation({ ...parts, clusterRoles, events: recorderOf(this.api) })
    const defaults = defaultPolicyController({
      ...{ ...parts, store, missingRules },
      expected: policyObjects(names, defaultPolicy(names)),
      onReconciled: (writes) => void this.reconciled.push(writes),
    })
    clusterRoles.start()
    aggregation.start()
    defaults.start()
    return () => {
      defaults.stop()
      aggregation.stop()
      clusterRoles.close()
    }
  }

  async until(isTrue: () => boolean): Promise<void> {
    for (let turns = 0; turns < 5000 && !isTrue(); turns++) {
      await turn()
      this.api.clock.advance(10)
    }
    assert.ok(isTrue(), JSON.stringify(this.errors.map(String)))
  }

  /** Waits until nothing is written any longer. */
  async settle(): Promise<void> {
    for (let quiet = 0, at = this.revision; quiet < 50; quiet++) {
      await turn()
      this.api.clock.advance(10)
      if (this.revision !== at) quiet = 0
      at = this.revision
    }
  }

  get revision(): number {
    return this.api.store.view().revision
  }

  async role(name: string): Promise<Obj> {
    return (await this.api.get({ kind: 'ClusterRole', name })).object
  }

  async resources(role: string): Promise<readonly string[]> {
    return objectsMember(await this.role(role), 'rules').flatMap((rule) => textsMember(rule, 'resources'))
  }

  async change(kind: string, name: string, body: JsonObject, namespace = 'default'): Promise<void> {
    await this.api.patch({ kind, name, body, namespace })
  }
}

const rule = (resource: string): JsonObject => ({ verbs: ['get'], apiGroups: ['x'], resources: [resource] })

void test('a new cluster gets all default roles and bindings; a later leader writes nothing', async (t) => {
  const member = await Member.open(t)
  const { names } = member.api
  const count = policyObjects(names, defaultPolicy(names)).length
  assert.deepEqual(await member.lead(), { ...nothing, create: count })
  const { metadata } = await member.role('system:node')
  assert.equal(metadata.labels?.['orch.io/bootstrapping'], 'rbac-defaults')
  const binding = { kind: 'RoleBinding', name: 'system:controller:token-cleaner', namespace: 'system-ns' }
  assert.deepEqual((await member.api.get(binding)).object['roleRef'], {
    ...{ apiGroup: 'rbac.authorization.orch.io', kind: 'Role', name: 'system:controller:token-cleaner' },
  })
  const before = member.revision
  assert.deepEqual(await member.lead(), nothing)
  assert.equal(member.revision, before)
  assert.deepEqual(member.errors, [])
})

void test('view, edit and admin have the rules of the roles that they aggregate, each once', async (t) => {
  const member = await Member.open(t)
  await member.lead()
  assert.deepEqual(
    (await member.role('view'))['rules'],
    (await member.role('system:aggregate-to-view'))['rules'],
  )
  const [view, edit, admin] = await Promise.all(
    ['view', 'edit', 'admin'].map((name) => member.resources(name)),
  )
  assert.ok(view && edit && admin)
  assert.ok(!view.includes('secrets') && edit.includes('secrets') && !edit.includes('rolebindings'))
  for (const one of [...view, ...edit, 'rolebindings']) assert.ok(admin.includes(one), one)
  const rules = objectsMember(await member.role('admin'), 'rules').map((one) => JSON.stringify(one))
  assert.equal(new Set(rules).size, rules.length)
})

void test('spec 5.7: a labelled role is aggregated while it exists, through several roles', async (t) => {
  const member = await Member.open(t)
  await member.lead()
  const before = await member.role('admin')
  const stop = member.start()
  await member.settle()
  const metadata = { name: 'widgets', labels: { [aggregateToView]: 'true' } }
  await member.api.create({
    kind: 'ClusterRole',
    body: { metadata, rules: [rule('widgets'), rule('gadgets')] },
  })
  await member.settle()
  for (const role of ['view', 'edit', 'admin']) {
    assert.ok((await member.resources(role)).includes('widgets'), role)
  }
  await member.change('ClusterRole', 'widgets', { rules: [rule('gadgets')] })
  await member.settle()
  assert.ok(!(await member.resources('admin')).includes('widgets'))
  assert.ok((await member.resources('admin')).includes('gadgets'))
  await member.change('ClusterRole', 'widgets', { metadata: { labels: { [aggregateToView]: null } } })
  await member.settle()
  stop()
  assert.deepEqual((await member.role('admin'))['rules'], before['rules'])
  assert.deepEqual(member.errors, [])
})

void test('rules written into an aggregated role are replaced, and a role never aggregates itself', async (t) => {
  const member = await Member.open(t)
  const stop = member.start()
  const own = { matchLabels: { own: 'yes' } }
  const metadata = { name: 'sum', labels: { own: 'yes' } }
  const aggregationRule = { clusterRoleSelectors: [own, own] }
  await member.api.create({ kind: 'ClusterRole', body: { metadata, aggregationRule, rules: [rule('a')] } })
  await member.settle()
  assert.deepEqual(await member.resources('sum'), [])
  for (const name of ['q', 'p']) {
    const body = { metadata: { name, labels: { own: 'yes' } }, rules: [rule(name), rule('both')] }
    await member.api.create({ kind: 'ClusterRole', body })
  }
  await member.settle()
  assert.deepEqual(await member.resources('sum'), ['p', 'both', 'q'])
  await member.change('ClusterRole', 'sum', { rules: [rule('b')] })
  await member.settle()
  assert.deepEqual(await member.resources('sum'), ['p', 'both', 'q'])
  const before = member.revision
  await member.change('ClusterRole', 'cluster-admin', { metadata: { labels: { other: 'x' } } })
  await member.settle()
  assert.equal(member.revision, before + 1, 'an unrelated change causes no write')
  stop()
})

void test('a leader restores what a default object lost, and keeps what an operator added', async (t) => {
  const member = await Member.open(t)
  await member.lead()
  const view = 'system:aggregate-to-view'
  const { metadata, ...rest } = await member.role(view)
  const rules = objectsMember(rest, 'rules')
  await member.api.delete({ kind: 'ClusterRole', name: 'system:node' })
  await member.change('ClusterRole', view, { rules: [rule('extra'), ...rules.slice(1)] })
  await member.change('ClusterRole', 'edit', {
    metadata: { labels: { mine: 'yes' }, annotations: { [autoupdate]: null } },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { mine: 'yes' } }] },
  })
  await member.change('ClusterRoleBinding', 'system:discovery', {
    subjects: [{ kind: 'User', name: 'jane' }],
  })
  assert.deepEqual(await member.lead(), { create: 1, update: 3, recreate: 0 })

  assert.equal((await member.role('system:node')).metadata.name, 'system:node')
  assert.deepEqual(objectsMember(await member.role(view), 'rules'), [
    rule('extra'),
    ...rules.slice(1),
    rules[0],
  ])
  assert.equal((await member.role(view)).metadata.uid, metadata.uid)
  const edit = await member.role('edit')
  assert.deepEqual(edit.metadata.labels, {
    ...{ 'orch.io/bootstrapping': 'rbac-defaults', mine: 'yes' },
    'rbac.authorization.orch.io/aggregate-to-admin': 'true',
  })
  assert.equal(objectsMember(objectMember(edit, 'aggregationRule'), 'clusterRoleSelectors').length, 2)
  const { object } = await member.api.get({ kind: 'ClusterRoleBinding', name: 'system:discovery' })
  assert.deepEqual(
    objectsMember(object, 'subjects').map(({ name }) => name),
    ['jane', 'system:authenticated'],
  )
  assert.deepEqual(await member.lead(), nothing)
})

void test('an object with autoupdate "false" stays as it is', async (t) => {
  const member = await Member.open(t)
  await member.lead()
  const metadata = { annotations: { [autoupdate]: 'false' } }
  await member.change('ClusterRole', 'system:kube-dns', { metadata, rules: [] })
  await member.change('ClusterRoleBinding', 'system:kube-dns', { metadata, subjects: null })
  const before = member.revision
  assert.deepEqual(await member.lead(), nothing)
  assert.equal(member.revision, before)
})

void test('a binding to another role is replaced, and a default role that aggregates does so no longer', async (t) => {
  const member = await Member.open(t)
  const roleRef = { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name: 'cluster-admin' }
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.orch.io', name: 'jane' }]
  const body = { metadata: { name: 'system:discovery' }, roleRef, subjects }
  const { object: wrong } = await member.api.create({ kind: 'ClusterRoleBinding', body })
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { any: 'x' } }] }
  const role = { metadata: { name: 'system:kube-dns' }, aggregationRule, rules: [] }
  await member.api.create({ kind: 'ClusterRole', body: role })
  const { update, recreate } = await member.lead()
  assert.deepEqual({ update, recreate }, { update: 1, recreate: 1 })
  const { object } = await member.api.get({ kind: 'ClusterRoleBinding', name: 'system:discovery' })
  assert.notEqual(object.metadata.uid, wrong.metadata.uid)
  assert.deepEqual(object['roleRef'], { ...roleRef, name: 'system:discovery' })
  const dns = await member.role('system:kube-dns')
  assert.equal(dns['aggregationRule'], undefined)
  assert.deepEqual(await member.resources('system:kube-dns'), ['endpoints', 'services'])
})

void test('two members that consider themselves leaders end with the same objects', async (t) => {
  const member = await Member.open(t)
  const stops = [member.start(), member.start()]
  await member.until(() => member.reconciled.length >= 2)
  await member.settle()
  for (const stop of stops) stop()
  const created = member.reconciled.map(({ create }) => create)
  const { names } = member.api
  const count = policyObjects(names, defaultPolicy(names)).length
  const { items } = await member.api.list({ kind: 'ClusterRole' })
  assert.equal(items.length, defaultPolicy(names).roles.length)
  assert.ok(created.every((one) => one <= count))
  assert.deepEqual(await member.lead(), nothing)
  assert.deepEqual(member.errors, [])
})

void test('an object that cannot be stored is retried, and does not hold up the others', async (t) => {
  let isRefusing = true
  const validate = ({ definition, object }: AdmissionRequest): void => {
    const name = 'system:kube-dns'
    if (!isRefusing || definition.kind !== 'ClusterRole' || object?.metadata.name !== name) return
    throw forbidden(resourceOf(definition), name, 'not now')
  }
  const admission = admissionChain([{ name: 'test', validate }])
  const member = await Member.open(t, { admission })
  const stop = member.start()
  await member.until(() => member.errors.length > 1)
  assert.equal((await refused(member.role('system:kube-dns'))).code, 404)
  assert.equal((await member.role('view')).metadata.name, 'view')
  assert.deepEqual(member.reconciled, [])
  isRefusing = false
  await member.until(() => member.reconciled.length > 0)
  stop()
  assert.deepEqual(member.reconciled, [{ ...nothing, create: 1 }])
})
