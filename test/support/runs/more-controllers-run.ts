import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'
import { KilledLeader, listed, once } from './killed-leader.ts'
import type { Seen } from './killed-leader.ts'

const namespaces = '/api/v1/namespaces'
const secrets = '/api/v1/namespaces/kube-system/secrets'
const publicMaps = '/api/v1/namespaces/kube-public/configmaps'
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const pods = '/api/v1/namespaces/default/pods'
const rootCa = 'kube-root-ca.crt'

/**
 * Like `controllersRun`, for the controllers of root authorities, quotas, namespaces, tokens, roles
 * and Pods.
 */
export async function moreControllersRun(t: TestContext, objects: number): Promise<void> {
  // These two run only where they are named.
  const config = { controllers: '*,bootstrapsigner,tokencleaner' }
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io', config })
  t.after(() => cluster.remove())
  const run = new Run(cluster, new KilledLeader(t, cluster, objects))
  await run.rootAuthoritiesArePublished()
  await run.quotasAreCounted()
  await run.namespacesAreEmptied()
  await run.tokensSign()
  await run.tokensAreRemoved()
  await run.rolesAreAggregated()
  await run.podsAreRemoved()
}

class Run {
  readonly #cluster: ProcessCluster
  readonly #leader: KilledLeader

  constructor(cluster: ProcessCluster, leader: KilledLeader) {
    this.#cluster = cluster
    this.#leader = leader
  }

  async rootAuthoritiesArePublished(): Promise<void> {
    const work = this.#leader.work('root authorities published', '/api/v1/configmaps', (seen) =>
      seen.name === rootCa && seen.type === 'ADDED' && /^o\d/.test(namespaceOf(seen)) ? 1 : 0,
    )
    await work(() => this.#leader.create(namespaces, (name) => ({ metadata: { name } })))
  }

  /** Each namespace has one ConfigMap, which the controller counts for a new quota. */
  async quotasAreCounted(): Promise<void> {
    const counted = new Set<string>()
    const work = this.#leader.work('quotas counted', '/api/v1/resourcequotas', (seen) => {
      const used = usedIn(seen.object)
      if (used === undefined || counted.has(namespaceOf(seen))) return 0
      assert.equal(used, '1', `the quota of ${namespaceOf(seen)}`)
      counted.add(namespaceOf(seen))
      return 1
    })
    const spec = { hard: { 'count/configmaps': '5' } }
    const path = (name: string): string => `${namespaces}/${name}/resourcequotas`
    await work(() => this.#leader.create(path, () => ({ metadata: { name: 'q' }, spec })))
    for (const { client } of this.#cluster.members) {
      const quotas = (await listed(client, '/api/v1/resourcequotas')) as readonly object[]
      assert.deepEqual([...new Set(quotas.map(usedIn))], ['1'])
    }
  }

  async namespacesAreEmptied(): Promise<void> {
    const work = this.#leader.work('namespaces removed', namespaces, once('DELETED', 'removed'))
    await work(() =>
      this.#leader.each(async (client, name) => {
        const { status, text } = await client.delete(`${namespaces}/${name}`)
        // A retry after a lost response finds the namespace removed, or being removed.
        assert.ok([200, 404, 409].includes(status), text)
      }),
    )
    for (const { client } of this.#cluster.members) {
      await until('nothing is left in the deleted namespaces', async () => {
        const left = (await listed(client, '/api/v1/configmaps')) as readonly Seen['object'][]
        return left.every((object) => !/^o\d/.test(namespaceOf({ object })))
      })
      assert.deepEqual(await listed(client, '/api/v1/resourcequotas'), [])
    }
  }

  async tokensSign(): Promise<void> {
    const leader = await this.#cluster.leader()
    const data = { kubeconfig: 'apiVersion: v1\nkind: Config\n' }
    const { status, text } = await leader.client.post(publicMaps, {
      ...{ metadata: { name: 'cluster-info' }, data },
    })
    assert.equal(status, 201, text)
    let signatures = 0
    const work = this.#leader.work('tokens that sign', publicMaps, ({ name, object }) => {
      if (name !== 'cluster-info') return 0
      const more = signaturesIn(object).length - signatures
      signatures += more
      return more
    })
    await work(() => this.#leader.create(secrets, tokenNamed))
    assert.equal(signatures, this.#leader.objects)
  }

  async tokensAreRemoved(): Promise<void> {
    const work = this.#leader.work('tokens removed', secrets, once('DELETED', 'removed'))
    const expiration = Buffer.from('2020-01-01T00:00:00Z').toString('base64')
    await work(() =>
      this.#leader.each(async (client, name) => {
        const path = `${secrets}/${tokenNamed(name).metadata.name}`
        const { status, text } = await client.patch(path, { data: { expiration } })
        assert.ok(status === 200 || status === 404, text)
      }),
    )
    for (const { client } of this.#cluster.members) {
      const reply = async (): Promise<Seen['object']> =>
        JSON.parse((await client.get(`${publicMaps}/cluster-info`)).text) as Seen['object']
      await until('no removed token signs', async () => signaturesIn(await reply()).length === 0)
    }
  }

  async rolesAreAggregated(): Promise<void> {
    const rulesOf = (name: string) => [{ apiGroups: [''], resources: [name], verbs: ['get'] }]
    await this.#leader.create(roles, (name) => ({
      ...{ metadata: { name: `part-${name}`, labels: { part: name } }, rules: rulesOf(name) },
    }))
    const aggregated = new Set<string>()
    const work = this.#leader.work('roles aggregated', roles, ({ name, object }) => {
      const { rules } = object as { readonly rules?: readonly object[] | null }
      if (!/^o\d/.test(name) || (rules ?? []).length === 0) return 0
      assert.ok(!aggregated.has(name), `${name} was written twice`)
      assert.deepEqual(rules, rulesOf(name))
      aggregated.add(name)
      return 1
    })
    await work(() =>
      this.#leader.create(roles, (name) => ({
        metadata: { name },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: name } }] },
      })),
    )
  }

  /** The Pods are bound to a node that never existed. */
  async podsAreRemoved(): Promise<void> {
    const work = this.#leader.work('Pods of an absent node removed', pods, once('DELETED', 'removed'))
    const spec = { nodeName: 'absent', containers: [{ name: 'c', image: 'i' }] }
    await work(() => this.#leader.create(pods, (name) => ({ metadata: { name }, spec })))
    for (const { client } of this.#cluster.members) {
      await until('no Pod is left', async () => (await listed(client, pods)).length === 0)
    }
  }
}

function namespaceOf({ object }: Pick<Seen, 'object'>): string {
  const { namespace = '' } = object.metadata as { readonly namespace?: string }
  return namespace
}

function usedIn(quota: object): unknown {
  const { status } = quota as { readonly status?: { readonly used?: Readonly<Record<string, unknown>> } }
  return status?.used?.['count/configmaps']
}

function signaturesIn(object: object): readonly string[] {
  const { data } = object as { readonly data?: Readonly<Record<string, string>> }
  return Object.keys(data ?? {}).filter((key) => key.startsWith('jws-kubeconfig-'))
}

/** Returns the Secret of a token that signs; its ID has six characters. */
function tokenNamed(name: string) {
  const id = `t${name.slice(1).padStart(5, '0')}`
  return {
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      ...{ 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true' },
    },
  }
}
