import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'
import { KilledLeader, listed, once } from './killed-leader.ts'

const namespaces = '/api/v1/namespaces'
const volumes = '/api/v1/persistentvolumes'

/** Like `controllersRun`, for the controllers of default accounts and of volumes. */
export async function lifetimeControllersRun(t: TestContext, objects: number): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  await cluster.waitReady()
  const run = new Run(cluster, new KilledLeader(t, cluster, objects))
  await run.defaultAccountsAreCreated()
  await run.volumesAreReleased()
}

class Run {
  readonly #cluster: ProcessCluster
  readonly #leader: KilledLeader

  constructor(cluster: ProcessCluster, leader: KilledLeader) {
    this.#cluster = cluster
    this.#leader = leader
  }

  async defaultAccountsAreCreated(): Promise<void> {
    const created = new Set<string>()
    const work = this.#leader.work(
      'default accounts created',
      '/api/v1/serviceaccounts',
      ({ type, name, object }) => {
        const { namespace = '' } = object.metadata as { readonly namespace?: string }
        if (type !== 'ADDED' || name !== 'default' || !/^o\d/.test(namespace)) return 0
        assert.ok(!created.has(namespace), `the account of ${namespace} was created twice`)
        created.add(namespace)
        return 1
      },
    )
    await work(() => this.#leader.create(namespaces, (name) => ({ metadata: { name } })))
  }

  /** Deletes volumes, which stay until the controller finds that no claim is bound to them. */
  async volumesAreReleased(): Promise<void> {
    const spec = {
      ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
      hostPath: { path: '/data' },
    }
    await this.#leader.create(volumes, (name) => ({ metadata: { name }, spec }))
    const work = this.#leader.work('volumes removed', volumes, once('DELETED', 'removed'))
    await work(() =>
      this.#leader.each(async (client, name) => {
        const { status, text } = await client.delete(`${volumes}/${name}`)
        // A retry after a lost response may find nothing.
        assert.ok(status === 200 || status === 404, text)
      }),
    )
    await this.#isEmpty('no volume is left', volumes)
  }

  async #isEmpty(what: string, path: string): Promise<void> {
    for (const { client } of this.#cluster.members) {
      await until(what, async () => (await listed(client, path)).length === 0)
    }
  }
}
