/*
 * Goal: a client library written for existing servers works unchanged.
 * Method: the typed verbs of @kubernetes/client-node against three real processes; its informers
 * are in informer.test.ts.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { CoreV1Api, KubeConfig, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'

const namespace = 'default'

void describe('@kubernetes/client-node', () => {
  let cluster: ProcessCluster
  const config = new KubeConfig()

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3 })
    config.loadFromFile(cluster.kubeconfig)
  })
  after(() => cluster.remove())

  const api = (member: string): CoreV1Api => {
    const own = new KubeConfig()
    own.loadFromFile(cluster.kubeconfig)
    own.setCurrentContext(member)
    return own.makeApiClient(CoreV1Api)
  }

  void test('typed verbs, each sent to another member than the one before, see the effect of that one', async () => {
    const made = await api('n1').createNamespacedConfigMap({
      namespace,
      body: { metadata: { name: 'typed' }, data: { a: '1' } },
    })
    assert.ok(made.metadata?.uid !== undefined)
    const read = await api('n2').readNamespacedConfigMap({ namespace, name: 'typed' })
    assert.deepEqual(read.data, { a: '1' })
    const patched = await api('n3').patchNamespacedConfigMap(
      { namespace, name: 'typed', body: { data: { b: '2' } } },
      setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
    )
    assert.deepEqual(patched.data, { a: '1', b: '2' })
    const list = await api('n1').listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=typed' })
    assert.equal(list.items.length, 1)
    await api('n2').deleteNamespacedConfigMap({ namespace, name: 'typed' })
    await assert.rejects(api('n3').readNamespacedConfigMap({ namespace, name: 'typed' }), /404/)
  })

  void test('a secret written as text is read as base64', async () => {
    await api('n1').createNamespacedSecret({
      namespace,
      body: { metadata: { name: 'words' }, stringData: { key: 'value' } },
    })
    const read = await api('n2').readNamespacedSecret({ namespace, name: 'words' })
    assert.equal(read.data?.['key'], Buffer.from('value').toString('base64'))
    assert.equal(read.stringData, undefined)
    assert.equal(read.type, 'Opaque')
  })
})
