/*
 * Goal: the authorities of a cluster are replaced while it serves, and each request of clients that
 * follow their kubeconfig succeeds, at the latest on the next member.
 * Method: three real processes; `orchctl pki rotate-ca` takes each step while clients write and
 * read, an informer watches and a real kubectl reads.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { clusterPkiPaths } from '../../src/pki/cluster-pki.ts'
import { readClientConfig } from '../../src/pki/client-config.ts'
import { readTrustBundle } from '../../src/pki/trust-bundle.ts'
import { ApiClient, replyOf } from '../support/drivers/api-client.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { KubeconfigClient } from '../support/drivers/kubeconfig-client.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import type { Ran } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { RelistingInformer } from '../support/drivers/relisting-informer.ts'
import { RetryingClient } from '../support/drivers/retrying-client.ts'
import { until } from '../support/tools/until.ts'

const path = '/api/v1/namespaces/default/configmaps'

/** Reads with kubectl until it is stopped; a failure is repeated at once with another context. */
class KubectlReads {
  reads = 0
  readonly lost: string[] = []
  #stopped = false
  readonly #done: Promise<void>

  constructor(cluster: ProcessCluster) {
    this.#done = this.#run(Kubectl.find(), cluster)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #run(kubectl: Kubectl, { kubeconfig, members }: ProcessCluster): Promise<void> {
    const read = (at: number) => {
      const context = members[at % members.length]?.name ?? ''
      return kubectl.run(kubeconfig, ['--context', context, 'get', 'namespace', 'default', '-o', 'name'])
    }
    for (; !this.#stopped; this.reads++) {
      if ((await read(this.reads)).code === 0) continue
      const second = await read(this.reads + 1)
      if (second.code !== 0) this.lost.push(second.stderr)
    }
  }
}

type Load = {
  /** Waits until every client has done some more. */
  readonly proceed: () => Promise<void>
  /** Ends the load and checks what the clients saw. */
  readonly finish: () => Promise<void>
}

function load(t: TestContext, cluster: ProcessCluster): Load {
  const { kubeconfig, members } = cluster
  const clients = members.map(({ url }) => new KubeconfigClient(url, kubeconfig))
  t.after(() => clients.forEach((client) => client.close()))
  const writers = [0, 1, 2].map((at) => new RetryingClient(`w${at}`, clients, 'default', at))
  const informer = new RelistingInformer(clients, path)
  const kubectl = new KubectlReads(cluster)
  const stop = async (): Promise<void> => {
    await Promise.all([...writers.map((writer) => writer.stop()), informer.stop(), kubectl.stop()])
  }
  // A failed test would otherwise go on until the time limit of its file.
  t.after(stop)
  const proceed = async (): Promise<void> => {
    const goals = writers.map(({ calls }) => calls + 20)
    const reads = kubectl.reads + 2
    const isThere = (): boolean =>
      writers.every(({ calls }, at) => calls >= (goals[at] ?? 0)) && kubectl.reads >= reads
    await until('each client proceeds', isThere)
  }
  const finish = async (): Promise<void> => {
    await Promise.all(writers.map((writer) => writer.stop()))
    const created = writers.flatMap((writer) => writer.created)
    await until('the informer has every object', () => created.every((name) => informer.objects.has(name)))
    await Promise.all([informer.stop(), kubectl.stop()])
    const repetitions = writers.flatMap((writer) => writer.repetitions)
    const calls = writers.reduce((sum, writer) => sum + writer.calls, 0)
    console.log(`# ${calls} calls, ${repetitions.length} repeated, ${kubectl.reads} reads by kubectl`)
    for (const { what, failure } of repetitions) console.log(`# ${what}: ${failure}`)
    assert.deepEqual(
      writers.flatMap((writer) => writer.lost),
      [],
    )
    assert.deepEqual(kubectl.lost, [])
    assert.equal(informer.gone, 0, 'the informer resumed each watch')
  }
  return { proceed, finish }
}

void test('the authorities of clients and of peers are replaced under load, and no request fails on two members', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const { kubeconfig, members, credentials } = cluster
  const pki = join(cluster.directory, 'pki')
  const paths = clusterPkiPaths(pki)
  const pids = members.map(({ pid }) => pid)
  const { proceed, finish } = load(t, cluster)
  for (const [authority, { certificate }] of [
    ['client', paths.ca],
    ['peer', paths.peerCa],
  ] as const) {
    const old = readFileSync(certificate, 'utf8')
    let last: Ran | null = null
    const step = async (...more: readonly string[]): Promise<void> => {
      const words = ['pki', 'rotate-ca', '--dir', pki, '--authority', authority, ...more]
      // A step is refused until every member has taken the one before.
      const isTaken = async (): Promise<boolean> => (last = await orchctl(...words)).code === 0
      await until(`${authority}: the next step`, isTaken, () => last?.err ?? '')
      await proceed()
    }
    await step()
    assert.equal(readTrustBundle(readFileSync(certificate, 'utf8')).authorities.length, 2)
    await step()
    await step('--finish')
    assert.ok(!readFileSync(certificate, 'utf8').includes(old))
    const shows = async (name: string): Promise<string> =>
      (await orchctl('pki', 'status', '--kubeconfig', kubeconfig, '-o', name)).out
    const isGone = async (): Promise<boolean> => {
      const { members: shown } = JSON.parse(await shows('json')) as {
        readonly members: readonly { readonly certificates: readonly { readonly fingerprint: string }[] }[]
      }
      const [known] = readTrustBundle(old).authorities
      return (
        shown.length === 3 &&
        shown.every(({ certificates }) =>
          certificates.every(({ fingerprint }) => fingerprint !== known?.fingerprint),
        )
      )
    }
    await until('no member uses the old authority', isGone)
  }
  await finish()
  assert.deepEqual(
    members.map(({ pid }) => pid),
    pids,
    'no member restarted',
  )
  const { authority } = readClientConfig(kubeconfig)
  assert.equal(
    authority,
    readFileSync(paths.ca.certificate, 'utf8'),
    'the kubeconfig trusts the new one alone',
  )
  for (const { url } of members) {
    const former = new ApiClient(url, { ...credentials, ca: authority ?? '' })
    const reply = await replyOf(former.get(path))
    former.close()
    assert.ok(reply === null || reply.status === 401, 'a certificate of the old authority is refused')
  }
  const status = await orchctl('pki', 'status', '--dir', pki)
  assert.equal(status.code, 0, status.out + status.err)
  for (const name of ['n1', 'n2', 'n3']) assert.match(status.out, new RegExp(`^${name}: \\S+ +server `, 'm'))
  // Another authority, which is in no file, signs the certificates that clients request.
  const shared =
    /^(n\d): shared by the members +signing-ca +(CN=.*?) +CN=\S+ cluster signing authority +(20\S+) +(20\S+)$/gm
  const rows = [...status.out.matchAll(shared)].map(([, name, ...rest]) => ({ name, rest: rest.join() }))
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['n1', 'n2', 'n3'],
    status.out,
  )
  assert.equal(new Set(rows.map(({ rest }) => rest)).size, 1, 'all members share it')
})
