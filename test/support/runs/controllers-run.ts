import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'
import { KilledLeader, listed } from './killed-leader.ts'
import type { Seen } from './killed-leader.ts'

const pods = '/api/v1/namespaces/default/pods'
const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

type Owned = { readonly ownerReferences?: readonly Readonly<Record<string, unknown>>[] }

/**
 * Gives controllers many objects to work on, and kills the leader when half of the work is done.
 * Watches of a surviving member show every step, so that no step can be taken twice unseen.
 */
export async function controllersRun(t: TestContext, objects: number): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  await cluster.waitReady()
  const run = new Run(t, cluster, objects)
  await run.claimsAreCreated()
  await run.claimsAreRemoved()
  await run.certificatesAreIssued()
}

class Run {
  readonly #cluster: ProcessCluster
  readonly #leader: KilledLeader

  constructor(t: TestContext, cluster: ProcessCluster, objects: number) {
    this.#cluster = cluster
    this.#leader = new KilledLeader(t, cluster, objects)
  }

  /** Creates Pods with an ephemeral volume each. */
  async claimsAreCreated(): Promise<void> {
    const created = new Map<string, Seen['object']>()
    const work = this.#leader.work('claims created', claims, ({ type, name, object }) => {
      if (type !== 'ADDED') return 0
      assert.ok(!created.has(name), `${name} was created twice`)
      created.set(name, object)
      return 1
    })
    const access = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const volumes = [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: access } } }]
    const containers = [{ name: 'c', image: 'i' }]
    const uids = new Map<string, unknown>()
    const spec = { containers, volumes }
    await work(() => this.#leader.create(pods, (name) => ({ metadata: { name }, spec }), uids))
    assert.equal(created.size, this.#leader.objects)
    for (const [name, { metadata }] of created) {
      const [owner] = (metadata as Owned).ownerReferences ?? []
      assert.equal(owner?.['uid'], uids.get(name.replace(/-v$/, '')), `${name} belongs to its Pod`)
    }
  }

  /** Deletes the Pods: their claims follow, once their finalizers are removed. */
  async claimsAreRemoved(): Promise<void> {
    const removed = new Set<string>()
    const work = this.#leader.work('claims removed', claims, ({ type, name }) => {
      if (type !== 'DELETED') return 0
      assert.ok(!removed.has(name), `${name} was removed twice`)
      removed.add(name)
      return 1
    })
    await work(() =>
      this.#leader.each(async (client, name) => {
        const { status, text } = await client.delete(`${pods}/${name}?gracePeriodSeconds=0`)
        // A retry after a lost response finds nothing.
        assert.ok(status === 200 || status === 404, text)
      }),
    )
    for (const { client } of this.#cluster.members) {
      await until('no claim is left', async () => (await listed(client, claims)).length === 0)
    }
  }

  /** Creates requests of a node: each is approved once, and gets one certificate. */
  async certificatesAreIssued(): Promise<void> {
    const approved = new Set<string>()
    const issued = new Map<string, string>()
    const work = this.#leader.work('certificates issued', requests, ({ type, name, object }) => {
      if (type !== 'MODIFIED') return 0
      const { certificate, conditions } = object['status'] as {
        readonly certificate?: string
        readonly conditions?: readonly unknown[]
      }
      assert.equal(conditions?.length, 1, `${name} has one condition`)
      if (certificate === undefined) {
        assert.ok(!approved.has(name), `${name} was approved twice`)
        approved.add(name)
        return 0
      }
      assert.ok(!issued.has(name), `${name} got two certificates`)
      issued.set(name, certificate)
      return 1
    })
    const request = this.#nodeRequest()
    const usages = ['digital signature', 'key encipherment', 'client auth']
    const spec = { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', request, usages }
    await work(() => this.#leader.create(requests, (name) => ({ metadata: { name }, spec })))
    assert.equal(approved.size, this.#leader.objects)
    assert.equal(new Set(issued.values()).size, this.#leader.objects)
  }

  #nodeRequest(): string {
    const [key, csr] = ['node.key', 'node.csr'].map((file) => join(this.#cluster.directory, file))
    assert.ok(key !== undefined && csr !== undefined)
    const type = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    const subject = ['-subj', '/O=system:nodes/CN=system:node:n1']
    const files = ['-keyout', key, '-out', csr]
    execFileSync('openssl', ['req', '-new', '-nodes', ...type, ...files, ...subject], { stdio: 'pipe' })
    return readFileSync(csr).toString('base64')
  }
}
