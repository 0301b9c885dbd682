/*
 * Goal: a client library written for existing servers works unchanged.
 * Method: @kubernetes/client-node against three real processes: typed verbs, and an informer that goes on across
 * a killed leader without missing a change.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, KubeConfig, PatchStrategy, makeInformer, setHeaderOptions } from '@kubernetes/client-node'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { ProcessCluster } from '../support/process-cluster.ts'

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

  void test('create on one member, read, patch, list and delete on others', async () => {
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

  void test('an informer on a follower misses nothing while the leader is killed', async () => {
    const leader = await cluster.leader()
    const follower = cluster.members.find((member) => member !== leader) ?? assert.fail('a follower')
    const own = new KubeConfig()
    own.loadFromFile(cluster.kubeconfig)
    own.setCurrentContext(follower.name)
    const core = own.makeApiClient(CoreV1Api)
    const known = new Map<string, V1ConfigMap>()
    const informer = makeInformer(own, `/api/v1/namespaces/${namespace}/configmaps`, () =>
      core.listNamespacedConfigMap({ namespace }),
    )
    const keep = (object: V1ConfigMap): void => void known.set(object.metadata?.name ?? '', object)
    informer.on('add', keep)
    informer.on('update', keep)
    informer.on('delete', (object) => void known.delete(object.metadata?.name ?? ''))
    let stopping = false
    informer.on('error', () => {
      if (!stopping) setTimeout(() => void informer.start(), 50)
    })
    await informer.start()
    const writer = follower.client
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    for (let n = 0; n < 60; n++) {
      if (n === 20) await leader.stop('SIGKILL')
      for (let attempt = 0; attempt < 200; attempt++) {
        const reply = await writer.post(path, { metadata: { name: `seen-${n}` }, data: { n: String(n) } })
        if (reply.status === 201 || reply.status === 409) break
        await sleep(20)
      }
    }
    const mine = (): number => [...known.keys()].filter((name) => name.startsWith('seen-')).length
    for (let wait = 0; wait < 200 && mine() < 60; wait++) await sleep(50)
    stopping = true
    await informer.stop()
    leader.start()
    await leader.waitReady()
    assert.equal(mine(), 60)
  })
})
