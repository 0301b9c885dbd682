/*
 * Goal: a new cluster has the default roles and bindings, keeps its aggregated roles current, and
 * restores a deleted default role under the next leader.
 * Method: three real processes, HTTPS requests of the administrator.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { defaultPolicy } from '../../src/auth/bootstrap/default-policy.ts'
import type { ApiClient, Reply } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const policy = defaultPolicy(namesOf('k8s.io'))

type Named = { readonly metadata: { readonly name: string } }
type Rule = { readonly resources?: readonly string[] }

async function namesIn(client: ApiClient, path: string): Promise<readonly string[]> {
  const { status, text } = await client.get(`${RBAC}/${path}`)
  assert.equal(status, 200, text)
  return (JSON.parse(text) as { items: readonly Named[] }).items.map(({ metadata }) => metadata.name)
}

async function hasResource(client: ApiClient, role: string, resource: string): Promise<boolean> {
  const { status, text } = await client.get(`${RBAC}/clusterroles/${role}`)
  if (status !== 200) return false
  const { rules } = JSON.parse(text) as { rules: readonly Rule[] | null }
  return (rules ?? []).some(({ resources = [] }) => resources.includes(resource))
}

function assertCreated({ status, text }: Reply): void {
  assert.equal(status, 201, text)
}

void test('a cluster stores the default policy, aggregates roles, and restores a deleted role under the next leader', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  const [first] = cluster.members
  assert.ok(first)
  const lists = {
    clusterroles: policy.roles,
    clusterrolebindings: policy.bindings,
    roles: policy.namespacedRoles,
    rolebindings: policy.namespacedBindings,
  }
  for (const [path, expected] of Object.entries(lists)) {
    const wanted = expected.map(({ name }) => name).sort()
    let seen: readonly string[] = []
    await until(
      `all ${path} are stored`,
      async () => (seen = await namesIn(first.client, path)).length >= wanted.length,
      () => seen.join(' '),
    )
    assert.deepEqual([...seen].sort(), wanted)
  }
  await until('the role admin has the rules of its parts', () =>
    hasResource(first.client, 'admin', 'rolebindings'),
  )

  const labels = { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' }
  const rules = [{ verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] }]
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }
  assertCreated(
    await first.client.post(`${RBAC}/clusterroles`, {
      ...role,
      metadata: { name: 'widgets', labels },
      rules,
    }),
  )
  for (const { client } of cluster.members) {
    await until('the labelled role is in admin', () => hasResource(client, 'admin', 'widgets'))
  }

  const deleted = `${RBAC}/clusterroles/system:kube-dns`
  assert.equal((await first.client.delete(deleted)).status, 200)
  const leader = await cluster.leader()
  assert.equal(await leader.stop('SIGTERM'), 0)
  const other = cluster.members.find((one) => one !== leader)
  assert.ok(other)
  await until(
    'the next leader restores the role',
    async () => (await other.client.get(deleted)).status === 200,
  )
  assert.ok(await hasResource(other.client, 'admin', 'widgets'))
})
