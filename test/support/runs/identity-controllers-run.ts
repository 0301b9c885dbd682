import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { ApiClient } from '../drivers/api-client.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'
import { KilledLeader, listed, once } from './killed-leader.ts'
import type { Seen } from './killed-leader.ts'

const accounts = '/api/v1/namespaces/default/serviceaccounts'
const secrets = '/api/v1/namespaces/default/secrets'
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const identityLabel = { 'k8s.io/component': 'kube-apiserver' }

/**
 * Like `controllersRun`, for the controllers of token Secrets, of the leases of API servers, and
 * for the clean-up of certificate signing requests.
 */
export async function identityControllersRun(t: TestContext, objects: number): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  await cluster.waitReady()
  const run = new Run(cluster, new KilledLeader(t, cluster, objects))
  await run.tokenSecretsAreFilled()
  await run.tokenSecretsAreRemoved()
  await run.leasesAreRemoved()
  await run.requestsAreRemoved()
}

class Run {
  readonly #cluster: ProcessCluster
  readonly #leader: KilledLeader

  constructor(cluster: ProcessCluster, leader: KilledLeader) {
    this.#cluster = cluster
    this.#leader = leader
  }

  /** Each Secret gets one token, of its own account. */
  async tokenSecretsAreFilled(): Promise<void> {
    const uids = new Map<string, unknown>()
    await this.#leader.create(accounts, (name) => ({ metadata: { name } }), uids)
    const tokens = new Map<string, string>()
    const work = this.#leader.work('token Secrets filled', secrets, ({ name, object }) => {
      const token = tokenIn(object)
      if (token === '' || token === tokens.get(name)) return 0
      assert.ok(!tokens.has(name), `${name} got two tokens`)
      const { annotations = {} } = object.metadata as Annotated
      assert.equal(annotations['kubernetes.io/service-account.uid'], uids.get(name), `the account of ${name}`)
      tokens.set(name, token)
      return 1
    })
    await work(() => this.#leader.create(secrets, secretOf))
    assert.equal(new Set(tokens.values()).size, this.#leader.objects)
  }

  /** Deletes the accounts: their Secrets follow. */
  async tokenSecretsAreRemoved(): Promise<void> {
    const work = this.#leader.work('token Secrets removed', secrets, once('DELETED', 'removed'))
    await work(() =>
      this.#leader.each(async (client, name) => {
        const { status, text } = await client.delete(`${accounts}/${name}`)
        // A retry after a lost response finds nothing.
        assert.ok(status === 200 || status === 404, text)
      }),
    )
    await this.#isEmpty('no token Secret is left', secrets)
  }

  /** Labels leases as those of API servers that are no members. Those of the members stay. */
  async leasesAreRemoved(): Promise<void> {
    const spec = {
      holderIdentity: 'gone',
      leaseDurationSeconds: 86_400,
      renewTime: '2020-01-01T00:00:00.000000Z',
    }
    await this.#leader.create(leases, (name) => ({ metadata: { name }, spec }))
    const work = this.#leader.work('leases removed', leases, once('DELETED', 'removed'))
    await work(() =>
      this.#leader.each((client, name) =>
        patched(client, `${leases}/${name}`, { metadata: { labels: identityLabel } }),
      ),
    )
    for (const { client } of this.#cluster.members) {
      await until('the leases of the members are left', async () => {
        const left = (await listed(client, leases)) as readonly Seen['object'][]
        const labels = left.map(({ metadata }) => (metadata as Annotated).labels?.['k8s.io/component'])
        return labels.filter((label) => label === identityLabel['k8s.io/component']).length === 3
      })
    }
  }

  /**
   * Denies requests with a time long ago: the controller removes each of them once, at its next
   * check.
   */
  async requestsAreRemoved(): Promise<void> {
    const spec = { signerName: 'example.com/nobody', request: this.#request(), usages: ['client auth'] }
    await this.#leader.create(requests, (name) => ({ metadata: { name }, spec }))
    const work = this.#leader.work('certificate requests removed', requests, once('DELETED', 'removed'))
    const denied = { type: 'Denied', status: 'True', reason: 'Test', lastUpdateTime: '2020-01-01T00:00:00Z' }
    await work(() =>
      this.#leader.each((client, name) =>
        patched(client, `${requests}/${name}/approval`, { status: { conditions: [denied] } }),
      ),
    )
    await this.#isEmpty('no certificate request is left', requests)
  }

  async #isEmpty(what: string, path: string): Promise<void> {
    for (const { client } of this.#cluster.members) {
      await until(what, async () => (await listed(client, path)).length === 0)
    }
  }

  #request(): string {
    const [key, csr] = ['client.key', 'client.csr'].map((file) => join(this.#cluster.directory, file))
    assert.ok(key !== undefined && csr !== undefined)
    const type = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    const files = ['-keyout', key, '-out', csr, '-subj', '/CN=client']
    execFileSync('openssl', ['req', '-new', '-nodes', ...type, ...files], { stdio: 'pipe' })
    return readFileSync(csr).toString('base64')
  }
}

type Annotated = {
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
}

/** A retry after a lost response may find that the object was removed already. */
async function patched(client: ApiClient, path: string, body: object): Promise<void> {
  const { status, text } = await client.patch(path, body)
  assert.ok(status === 200 || status === 404, text)
}

function secretOf(name: string) {
  const annotations = { 'kubernetes.io/service-account.name': name }
  return { metadata: { name, annotations }, type: 'kubernetes.io/service-account-token' }
}

function tokenIn(object: object): string {
  const { data } = object as { readonly data?: Readonly<Record<string, string>> }
  return data?.['token'] ?? ''
}
