/*
 * Goal: a token that one member issued is valid on every member, and stops being so everywhere when
 * its account is deleted. Method: a real kubectl and three real processes with one signing key.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApiClient } from '../support/drivers/api-client.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()

void describe('tokens of service accounts', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  })
  after(() => cluster.remove())

  const ok = (args: readonly string[]): Promise<string> => kubectl.ok(cluster.kubeconfig, args)

  /** Waits until every member answers a request that carries the token with the wanted status. */
  async function everywhere(token: string, wanted: number): Promise<void> {
    const { ca } = cluster.credentials
    for (const { name, client } of cluster.members) {
      const caller = new ApiClient(client.url.href, { ca, token })
      await until(`${name} answers with ${wanted}`, async () => {
        return (await caller.call('GET', '/api')).status === wanted
      })
      caller.close()
    }
  }

  void test('kubectl create token issues a token that every member accepts until the account is deleted', async () => {
    await ok(['create', 'serviceaccount', 'robot'])
    const token = (await ok(['create', 'token', 'robot', '--duration', '20m'])).trim()
    await everywhere(token, 200)
    await ok(['delete', 'serviceaccount', 'robot'])
    await everywhere(token, 401)
    await ok(['create', 'serviceaccount', 'robot'])
    await everywhere(token, 401)
    await everywhere((await ok(['create', 'token', 'robot'])).trim(), 200)
  })

  void test('a token bound to a Pod is valid as long as the Pod exists', async () => {
    await ok(['create', 'serviceaccount', 'worker'])
    const spec = { serviceAccountName: 'worker', containers: [{ name: 'c', image: 'i' }] }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec }
    await kubectl.ok(cluster.kubeconfig, ['create', '-f', '-'], JSON.stringify(pod))
    const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', 'p']
    const token = (await ok(['create', 'token', 'worker', ...bound])).trim()
    await everywhere(token, 200)
    await ok(['delete', 'pod', 'p'])
    await everywhere(token, 401)
  })

  void test('a Pod gets a volume with a token and the CA certificates, which each namespace has in a ConfigMap', async () => {
    await ok(['create', 'namespace', 'apps'])
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec }
    await kubectl.ok(cluster.kubeconfig, ['create', '-n', 'apps', '-f', '-'], JSON.stringify(pod))
    const volume = await ok(['get', 'pod', 'p', '-n', 'apps', '-o', 'jsonpath={.spec.volumes[0]}'])
    const { name, projected } = JSON.parse(volume) as { name: string; projected: { sources: unknown[] } }
    assert.match(name, /^kube-api-access-/)
    assert.equal(projected.sources.length, 3)
    const mount = 'jsonpath={.spec.containers[0].volumeMounts[0].mountPath}'
    const path = await ok(['get', 'pod', 'p', '-n', 'apps', '-o', mount])
    assert.equal(path, '/var/run/secrets/kubernetes.io/serviceaccount')
    const stored = async (): Promise<string> => {
      const get = ['get', 'configmap', 'kube-root-ca.crt', '-n', 'apps', '-o', 'jsonpath={.data.ca\\.crt}']
      return (await kubectl.run(cluster.kubeconfig, get)).stdout
    }
    await until('the CA is published', async () => (await stored()) === cluster.credentials.ca)
    await ok(['delete', 'configmap', 'kube-root-ca.crt', '-n', 'apps'])
    await until('the CA is published again', async () => (await stored()) === cluster.credentials.ca)
    await ok(['delete', 'namespace', 'apps'])
  })

  void test('a token Secret is filled, and its token is valid until the account is deleted', async () => {
    await ok(['create', 'serviceaccount', 'keeper'])
    const secret = {
      ...{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/service-account-token' },
      metadata: { name: 'kept', annotations: { 'kubernetes.io/service-account.name': 'keeper' } },
    }
    await kubectl.ok(cluster.kubeconfig, ['apply', '-f', '-'], JSON.stringify(secret))
    const read = (key: string) => ok(['get', 'secret', 'kept', '-o', `jsonpath={.data.${key}}`])
    await until('the Secret has a token', async () => (await read('token')) !== '')
    const token = Buffer.from(await read('token'), 'base64').toString()
    assert.equal(Buffer.from(await read('ca\\.crt'), 'base64').toString(), cluster.credentials.ca)
    await everywhere(token, 200)
    await ok(['delete', 'serviceaccount', 'keeper'])
    await everywhere(token, 401)
    await until('the Secret is deleted', async () => {
      const { code } = await kubectl.run(cluster.kubeconfig, ['get', 'secret', 'kept'])
      return code !== 0
    })
  })
})
