/*
 * Goal: stored roles and bindings decide over HTTP, and users cannot grant permissions that they do
 * not have.
 * Method: the shipped server with an administrator and a user without permissions of her own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpecServer, objectOf } from '../support/fixtures/spec-server.ts'
import type { Reply } from '../support/fixtures/spec-server.ts'
import { until } from '../support/tools/until.ts'

const JANE = { authorization: 'Bearer jane-token' }
const RBAC = '/apis/rbac.authorization.orch.io/v1'
const CM = '/api/v1/namespaces/default/configmaps'

const reader = { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps'] }

/** The client of one server, as the administrator and as jane. */
class Asker {
  readonly api: SpecServer

  constructor(api: SpecServer) {
    this.api = api
  }

  async make(kind: string, name: string, rest: object, headers?: Record<string, string>): Promise<Reply> {
    const plural = `${kind.toLowerCase()}s`
    const at = kind.startsWith('Cluster') ? `${RBAC}/${plural}` : `${RBAC}/namespaces/default/${plural}`
    const body = { apiVersion: 'rbac.authorization.orch.io/v1', kind, metadata: { name }, ...rest }
    return this.api.ask('POST', at, { body, ...(headers === undefined ? {} : { headers }) })
  }

  async made(kind: string, name: string, rest: object): Promise<void> {
    const { status, text } = await this.make(kind, name, rest)
    assert.equal(status, 201, text)
  }

  /** Waits until a request of jane gets a status. */
  async jane(
    method: string,
    path: string,
    status: number,
    headers: Record<string, string> = JANE,
  ): Promise<Reply> {
    let last = await this.api.ask(method, path, { headers })
    await until(`${method} ${path} gets ${status}`, async () => {
      last = await this.api.ask(method, path, { headers })
      return last.status === status
    })
    return last
  }
}

function bindingTo(kind: string, name: string, subject: object): object {
  return {
    roleRef: { apiGroup: 'rbac.authorization.orch.io', kind, name },
    subjects: [{ apiGroup: 'rbac.authorization.orch.io', ...subject }],
  }
}

const jane = { kind: 'User', name: 'jane' }

async function open(t: Parameters<typeof SpecServer.start>[0]): Promise<Asker> {
  return new Asker(await SpecServer.start(t))
}

void test('spec 5.7: a role applies in its namespace, as long as it is bound', async (t) => {
  const asker = await open(t)
  await asker.jane('GET', CM, 403)
  await asker.made('Role', 'reader', { rules: [reader] })
  await asker.made('RoleBinding', 'readers', bindingTo('Role', 'reader', jane))
  await asker.jane('GET', CM, 200)
  assert.equal((await asker.api.ask('GET', '/api/v1/configmaps', { headers: JANE })).status, 403)
  assert.equal(
    (await asker.api.ask('GET', '/api/v1/namespaces/other/configmaps', { headers: JANE })).status,
    403,
  )
  assert.equal((await asker.api.ask('DELETE', `${CM}/x`, { headers: JANE })).status, 403)

  const role = `${RBAC}/namespaces/default/roles/reader`
  const all = { rules: [{ ...reader, verbs: ['*'] }] }
  const type = 'application/merge-patch+json'
  assert.equal((await asker.api.ask('PATCH', role, { body: all, type })).status, 200)
  await asker.jane('DELETE', `${CM}/x`, 404)
  await asker.api.ask('DELETE', `${RBAC}/namespaces/default/rolebindings/readers`)
  await asker.jane('GET', CM, 403)
})

void test('spec 5.7: a cluster role bound to a group in the whole cluster applies everywhere', async (t) => {
  const asker = await open(t)
  await asker.made('ClusterRole', 'reader', {
    rules: [reader, { verbs: ['get'], nonResourceURLs: ['/metrics'] }],
  })
  await asker.made(
    'ClusterRoleBinding',
    'readers',
    bindingTo('ClusterRole', 'reader', { kind: 'Group', name: 'writers' }),
  )
  await asker.jane('GET', '/api/v1/configmaps', 200)
  await asker.jane('GET', '/metrics', 200)
  await asker.api.ask('DELETE', `${RBAC}/clusterroles/reader`)
  await asker.jane('GET', '/api/v1/configmaps', 403)
})

void test('a subject rules review and an access review include the stored roles', async (t) => {
  const asker = await open(t)
  await asker.made('ClusterRole', 'reader', { rules: [reader] })
  await asker.made('ClusterRoleBinding', 'readers', bindingTo('ClusterRole', 'reader', jane))
  await asker.jane('GET', CM, 200)
  const review = async (kind: string, spec: object): Promise<Record<string, unknown>> => {
    const group = 'authorization.orch.io'
    const path = `/apis/${group}/v1/${kind.toLowerCase()}s`
    const body = { apiVersion: `${group}/v1`, kind, spec }
    const { doc, status } = await asker.api.ask('POST', path, { body, headers: JANE })
    assert.equal(status, 201)
    return doc.status as Record<string, unknown>
  }
  const resourceAttributes = { verb: 'list', resource: 'configmaps', namespace: 'default' }
  const access = await review('SelfSubjectAccessReview', { resourceAttributes })
  assert.equal(access['allowed'], true)
  const { resourceRules } = await review('SelfSubjectRulesReview', { namespace: 'default' })
  assert.ok(JSON.stringify(resourceRules).includes('"configmaps"'))
})

void test('a role or a binding with permissions that its author does not have is refused', async (t) => {
  const asker = await open(t)
  const group = 'rbac.authorization.orch.io'
  const author = {
    verbs: ['*'],
    apiGroups: [group],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
  }
  // Verb * on roles has escalate in it, so the verbs are listed.
  const verbs = ['create', 'update', 'patch', 'get']
  await asker.made('ClusterRole', 'author', { rules: [{ ...author, verbs }, reader] })
  await asker.made('ClusterRoleBinding', 'authors', bindingTo('ClusterRole', 'author', jane))
  await asker.jane('GET', `${RBAC}/clusterroles/author`, 200)

  const secrets = { verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets'] }
  assert.equal(
    (await asker.make('Role', 'fine', { rules: [{ ...reader, verbs: ['get'] }] }, JANE)).status,
    201,
  )
  for (const kind of ['Role', 'ClusterRole']) {
    const refused = await asker.make(kind, 'more', { rules: [reader, secrets] }, JANE)
    assert.equal(refused.status, 403, kind)
    assert.match(
      refused.doc.message ?? '',
      /user "jane" \(groups=\["writers" "system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get" "list"\]\}/,
    )
  }
  await asker.made('ClusterRole', 'secrets', { rules: [secrets] })
  for (const kind of ['RoleBinding', 'ClusterRoleBinding']) {
    const refused = await asker.make(kind, 'mine', bindingTo('ClusterRole', 'secrets', jane), JANE)
    assert.equal(refused.status, 403, kind)
    const missing = await asker.make(kind, 'mine', bindingTo('ClusterRole', 'missing', jane), JANE)
    assert.equal(missing.status, 404, kind)
  }
  const type = 'application/merge-patch+json'
  const own = `${RBAC}/namespaces/default/roles/fine`
  const grown = await asker.api.ask('PATCH', own, { body: { rules: [secrets] }, type, headers: JANE })
  assert.equal(grown.status, 403)
  const created = await asker.api.ask('PUT', `${RBAC}/namespaces/default/roles/new`, {
    body: { apiVersion: `${group}/v1`, kind: 'Role', metadata: { name: 'new' }, rules: [secrets] },
    headers: JANE,
  })
  assert.equal(created.status, 403, 'a PUT that creates')
  for (const name of ['fine', 'new']) {
    const applied = await asker.api.ask(
      'PATCH',
      `${RBAC}/namespaces/default/roles/${name}?fieldManager=m&force=true`,
      {
        body: { apiVersion: `${group}/v1`, kind: 'Role', metadata: { name }, rules: [secrets] },
        type: 'application/apply-patch+yaml',
        headers: JANE,
      },
    )
    assert.equal(applied.status, 403, `an apply of the role ${name}`)
  }
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
  assert.equal((await asker.make('ClusterRole', 'all', { aggregationRule, rules: [] }, JANE)).status, 403)
})

void test('spec 5.7: verb escalate on a role, and bind on the role of a binding, permit rules that the user does not have', async (t) => {
  const asker = await open(t)
  const apiGroups = ['rbac.authorization.orch.io']
  const rules = [
    { verbs: ['create', 'escalate'], apiGroups, resources: ['roles'] },
    { verbs: ['create'], apiGroups, resources: ['rolebindings'] },
    { verbs: ['bind'], apiGroups, resources: ['clusterroles'], resourceNames: ['one'] },
  ]
  await asker.made('ClusterRole', 'author', { rules })
  const secrets = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] }
  await asker.made('ClusterRole', 'one', { rules: [secrets] })
  await asker.made('ClusterRole', 'two', { rules: [{ ...secrets, verbs: ['list'] }] })
  await asker.made('RoleBinding', 'authors', bindingTo('ClusterRole', 'author', jane))
  await until(
    'jane may escalate',
    async () => (await asker.make('Role', `r${Date.now()}`, { rules: [secrets] }, JANE)).status === 201,
  )
  assert.equal(
    (await asker.make('RoleBinding', 'b1', bindingTo('ClusterRole', 'one', jane), JANE)).status,
    201,
  )
  assert.equal(
    (await asker.make('RoleBinding', 'b2', bindingTo('ClusterRole', 'two', jane), JANE)).status,
    403,
  )
})

void test('spec 5.4: a caller that may impersonate a user acts as it, and only as it', async (t) => {
  const asker = await open(t)
  await asker.made('ClusterRole', 'reader', { rules: [reader] })
  await asker.made(
    'ClusterRoleBinding',
    'readers',
    bindingTo('ClusterRole', 'reader', { kind: 'User', name: 'bob' }),
  )
  const rules = [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['bob'] }]
  await asker.made('ClusterRole', 'actor', { rules })
  await asker.made('ClusterRoleBinding', 'actors', bindingTo('ClusterRole', 'actor', jane))
  const asBob = { ...JANE, 'impersonate-user': 'bob' }
  await asker.jane('GET', CM, 200, asBob)
  assert.equal((await asker.api.ask('GET', CM, { headers: JANE })).status, 403)
  for (const more of [
    { 'impersonate-user': 'root' },
    { 'impersonate-group': 'system:masters' },
    { 'impersonate-uid': '1' },
    { 'impersonate-extra-scopes': 'all' },
  ]) {
    const refused = await asker.api.ask('GET', CM, { headers: { ...asBob, ...more } })
    assert.equal(refused.status, 403, JSON.stringify(more))
    assert.match(refused.doc.message ?? '', /User "jane" cannot impersonate resource/)
  }
  const incomplete = await asker.api.ask('GET', CM, { headers: { ...JANE, 'impersonate-group': 'g' } })
  assert.equal(incomplete.status, 400)
  // The administrator may impersonate every user, and has then only the permissions of that user.
  const asNobody = await asker.api.ask('GET', CM, { headers: { 'impersonate-user': 'nobody' } })
  assert.equal(asNobody.status, 403)
  assert.match(asNobody.doc.message ?? '', /User "nobody" cannot list/)
})

void test('a member whose rules may be out of date answers 503 to all but health, metrics and its status', async (t) => {
  let isStale = false
  const api = await SpecServer.start(t, { dependencies: { isAccessStale: () => isStale } })
  assert.equal((await api.ask('GET', CM)).status, 200)
  isStale = true
  const refused = await api.ask('GET', `${CM}?resourceVersion=0`)
  assert.equal(refused.status, 503)
  assert.equal(refused.doc.reason, 'ServiceUnavailable')
  for (const path of ['/healthz', '/livez/ping', '/metrics', '/cluster/v1/status']) {
    assert.equal((await api.ask('GET', path)).status, 200, path)
  }
  for (const path of ['/metricsx', '/api', '/cluster/v1/settings', '/version']) {
    assert.equal((await api.ask('GET', path)).status, 503, path)
  }
  isStale = false
  assert.equal((await api.ask('GET', CM)).status, 200)
})

void test('a watch ends when its caller loses the permission or may no longer impersonate, others continue', async (t) => {
  const asker = await open(t)
  const { api } = asker
  await asker.made('ClusterRole', 'reader', { rules: [reader] })
  await asker.made('ClusterRoleBinding', 'janes', bindingTo('ClusterRole', 'reader', jane))
  await asker.made(
    'ClusterRoleBinding',
    'bobs',
    bindingTo('ClusterRole', 'reader', { kind: 'User', name: 'bob' }),
  )
  const rules = [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['bob'] }]
  await asker.made('ClusterRole', 'actor', { rules })
  await asker.made('ClusterRoleBinding', 'actors', bindingTo('ClusterRole', 'actor', jane))
  const asBob = { ...JANE, 'impersonate-user': 'bob' }
  await asker.jane('GET', CM, 200)
  await asker.jane('GET', CM, 200, asBob)

  const { doc } = await api.ask('GET', CM)
  const path = `${CM}?watch=true&resourceVersion=${doc.metadata?.resourceVersion ?? ''}`
  const [own, taken, admin] = await Promise.all([
    api.watch(path, JANE),
    api.watch(path, asBob),
    api.watch(path),
  ])
  await api.ask('DELETE', `${RBAC}/clusterrolebindings/janes`)
  assert.deepEqual(await own.words(1), [])
  await asker.jane('GET', CM, 403)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'first') })
  assert.deepEqual(await taken.words(1), ['ADDED first'])

  await api.ask('DELETE', `${RBAC}/clusterrolebindings/actors`)
  assert.deepEqual(await taken.words(1), [])
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'second') })
  assert.deepEqual(await admin.words(2), ['ADDED first', 'ADDED second'])
  admin.leave()
})
