import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { ApiClient, WatchEvent } from '../drivers/api-client.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'

/** Objects that are created concurrently. */
const createdAtOnce = 64

const pods = '/api/v1/namespaces/default/pods'
const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

type Owned = { readonly ownerReferences?: readonly Readonly<Record<string, unknown>>[] }

/** The part of an event that shows what a controller did. */
type Seen = { readonly type: string; readonly name: string; readonly object: WatchEvent['object'] }

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
  readonly #t: TestContext
  readonly #cluster: ProcessCluster
  readonly #objects: number

  constructor(t: TestContext, cluster: ProcessCluster, objects: number) {
    this.#t = t
    this.#cluster = cluster
    this.#objects = objects
  }

  /** Creates Pods with an ephemeral volume each. */
  async claimsAreCreated(): Promise<void> {
    const created = new Map<string, Seen['object']>()
    const work = this.#work('claims created', claims, ({ type, name, object }) => {
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
    await work(() => this.#create(pods, (name) => ({ metadata: { name }, spec }), uids))
    assert.equal(created.size, this.#objects)
    for (const [name, { metadata }] of created) {
      const [owner] = (metadata as Owned).ownerReferences ?? []
      assert.equal(owner?.['uid'], uids.get(name.replace(/-v$/, '')), `${name} belongs to its Pod`)
    }
  }

  /** Deletes the Pods: their claims follow, once their finalizers are removed. */
  async claimsAreRemoved(): Promise<void> {
    const removed = new Set<string>()
    const work = this.#work('claims removed', claims, ({ type, name }) => {
      if (type !== 'DELETED') return 0
      assert.ok(!removed.has(name), `${name} was removed twice`)
      removed.add(name)
      return 1
    })
    await work(() =>
      this.#each(async (client, name) => {
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
    const work = this.#work('certificates issued', requests, ({ type, name, object }) => {
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
    await work(() => this.#create(requests, (name) => ({ metadata: { name }, spec })))
    assert.equal(approved.size, this.#objects)
    assert.equal(new Set(issued.values()).size, this.#objects)
  }

  /**
   * Returns a function that begins the work, kills the leader when half of it is done, and waits
   * for the rest.
   *
   * @param path of the objects to watch
   * @param step called with each event; returns how much of the work it completes
   */
  #work(
    what: string,
    path: string,
    step: (seen: Seen) => number,
  ): (begin: () => Promise<void>) => Promise<void> {
    return async (begin) => {
      const leader = await this.#cluster.leader()
      const survivor =
        this.#cluster.members.find((member) => member !== leader) ?? assert.fail('three members')
      let done = 0
      const failures: unknown[] = []
      const since = await revisionOf(survivor.client, path)
      const watch = survivor.client.watch(`${path}?watch=1&resourceVersion=${since}`, ({ type, object }) => {
        try {
          done += step({ type, name: String(object.metadata['name']), object })
        } catch (cause) {
          failures.push(cause)
        }
      })
      this.#t.after(() => watch.close())
      const progress = (): string => `${what}: ${done} of ${this.#objects}`
      const beganMs = performance.now()
      const begun = begin()
      await until('half of the work is done', () => done >= this.#objects / 2, progress, 1)
      await leader.stop('SIGKILL')
      leader.start()
      await leader.waitReady()
      await begun
      await until('all of the work is done', () => done >= this.#objects, progress)
      const seconds = ((performance.now() - beganMs) / 1000).toFixed(1)
      console.log(`# ${what}: ${this.#objects} in ${seconds} s`)
      watch.close()
      assert.deepEqual(failures, [])
    }
  }

  /** Creates an object of each name. @param uids receives the uid of each */
  #create(path: string, body: (name: string) => object, uids = new Map<string, unknown>()): Promise<void> {
    return this.#each(async (client, name) => {
      const { status, text } = await client.post(path, body(name))
      // A retry after a lost response finds the object.
      const reply = status === 409 ? await client.get(`${path}/${name}`) : { status, text }
      assert.ok(reply.status === 200 || reply.status === 201, text)
      const { metadata } = JSON.parse(reply.text) as { readonly metadata: { readonly uid: string } }
      uids.set(name, metadata.uid)
    })
  }

  /** Calls `act` for each name, again until it succeeds: the leader is killed in between. */
  async #each(act: (client: ApiClient, name: string) => Promise<void>): Promise<void> {
    const from = async (first: number): Promise<void> => {
      for (let at = first; at < this.#objects; at += createdAtOnce) await this.#repeat(act, at)
    }
    await Promise.all(Array.from({ length: createdAtOnce }, (_, first) => from(first)))
  }

  async #repeat(act: (client: ApiClient, name: string) => Promise<void>, at: number): Promise<void> {
    const { members } = this.#cluster
    let attempt = 0
    let failure = ''
    const isDone = async (): Promise<boolean> => {
      const member = members[(at + attempt++) % members.length] ?? assert.fail('a member')
      try {
        await act(member.client, `o${at}`)
        return true
      } catch (cause) {
        failure = String(cause)
        return false
      }
    }
    await until(`object ${at} is written`, isDone, () => failure)
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

async function revisionOf(client: ApiClient, path: string): Promise<string> {
  const { status, text } = await client.get(`${path}?limit=1`)
  assert.equal(status, 200, text)
  const list = JSON.parse(text) as { readonly metadata: { readonly resourceVersion: string } }
  return list.metadata.resourceVersion
}

async function listed(client: ApiClient, path: string): Promise<readonly unknown[]> {
  const { status, text } = await client.get(path)
  return status === 200 ? (JSON.parse(text) as { readonly items: readonly unknown[] }).items : ['unknown']
}
