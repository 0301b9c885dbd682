import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ApiClient, WatchEvent } from '../drivers/api-client.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'

const policies = ['Background', 'Foreground', 'Orphan'] as const
type Policy = (typeof policies)[number]

/** Dependents that are created concurrently. */
const createdAtOnce = 64

type Meta = {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly ownerReferences?: readonly unknown[]
}
type List = {
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
  }
  readonly items: readonly { readonly metadata: Meta }[]
}

/**
 * Deletes an owner of many dependents with each policy, and kills the leader when half of them are
 * processed.
 */
export async function dependentsRun(t: TestContext, dependents: number): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  for (const policy of policies) await deleteOwner(t, cluster, policy, dependents)
}

async function deleteOwner(
  t: TestContext,
  cluster: ProcessCluster,
  policy: Policy,
  dependents: number,
): Promise<void> {
  const leader = await cluster.leader()
  // A member that survives.
  const watched = cluster.members.find((member) => member !== leader) ?? assert.fail('three members')
  const { client } = watched
  const namespace = policy.toLowerCase()
  const base = `/api/v1/namespaces/${namespace}/secrets`
  await created(client, '/api/v1/namespaces', { metadata: { name: namespace } })
  const owner = await created(client, base, { metadata: { name: 'owner' } })
  const reference = {
    ...{ apiVersion: 'v1', kind: 'Secret', name: 'owner', uid: owner.uid },
    blockOwnerDeletion: true,
  }
  const create = async (from: number): Promise<void> => {
    for (let at = from; at < dependents; at += createdAtOnce) {
      const one = cluster.members[at % cluster.members.length]?.client ?? client
      await created(one, base, { metadata: { name: `d${at}`, ownerReferences: [reference] } })
    }
  }
  await Promise.all(Array.from({ length: createdAtOnce }, (_, from) => create(from)))

  const since = (await listOf(client, `${base}?limit=1`)).metadata.resourceVersion
  let processed = 0
  const gone: string[] = []
  const watch = client.watch(`${base}?watch=1&resourceVersion=${since}`, ({ type, object }: WatchEvent) => {
    const { name, ownerReferences } = object.metadata as Meta
    if (type === 'DELETED') gone.push(name)
    if (name === 'owner') return
    if (type === 'DELETED' || (type === 'MODIFIED' && ownerReferences === undefined)) processed++
  })
  t.after(() => watch.close())
  const beganMs = performance.now()
  const deleted = await client.delete(`${base}/owner?propagationPolicy=${policy}`)
  assert.equal(deleted.status, policy === 'Background' ? 200 : 202, deleted.text)
  const progress = (): string => `${policy}: ${processed} of ${dependents}`
  await until('half of the dependents are processed', () => processed >= dependents / 2, progress, 1)
  assert.ok(processed < dependents, 'the leader is killed half-way')
  await leader.stop('SIGKILL')
  leader.start()
  await leader.waitReady()
  await until('all dependents are processed', () => processed >= dependents, progress)
  await until('the owner is removed', () => gone.includes('owner'), progress)
  console.log(
    `# ${policy}: ${dependents} dependents in ${((performance.now() - beganMs) / 1000).toFixed(1)} s`,
  )

  if (policy === 'Foreground') assert.equal(gone.at(-1), 'owner', 'it is removed after its dependents')
  if (policy === 'Orphan') assert.deepEqual(gone, ['owner'])
  else assert.equal(gone.length, dependents + 1)
  for (const { client: one } of cluster.members) {
    const left = await allOf(one, base)
    assert.equal(left.length, policy === 'Orphan' ? dependents : 0)
    assert.ok(left.every(({ ownerReferences }) => ownerReferences === undefined))
  }
  watch.close()
}

async function created(client: ApiClient, path: string, body: object): Promise<Meta> {
  const { status, text } = await client.post(path, body)
  assert.equal(status, 201, text)
  return (JSON.parse(text) as { readonly metadata: Meta }).metadata
}

async function listOf(client: ApiClient, path: string): Promise<List> {
  const { status, text } = await client.get(path)
  assert.equal(status, 200, text)
  return JSON.parse(text) as List
}

async function allOf(client: ApiClient, base: string): Promise<readonly Meta[]> {
  const found: Meta[] = []
  let next: string | undefined = ''
  while (next !== undefined) {
    const list: List = await listOf(client, `${base}?limit=500&continue=${encodeURIComponent(next)}`)
    found.push(...list.items.map(({ metadata }) => metadata))
    next = list.metadata.continue
  }
  return found
}
