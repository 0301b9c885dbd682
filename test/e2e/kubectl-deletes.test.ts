/*
 * Goal: what is deleted with kubectl is removed in the end, whatever it contains. Method: a real
 * kubectl against real processes; a namespace with objects of many kinds, custom ones too, with
 * finalizers and Pods on nodes that do not exist; owners with dependents; Pods on a node. The
 * domain k8s.io suffices: deletion does not depend on it.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
`

/** Objects of many kinds; a Pod on a node that does not exist, and one without a node. */
const content = `apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: plain}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: worker}}
---
{apiVersion: v1, kind: Pod, metadata: {name: waiting}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: lost}, spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: used}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: claimant}
spec:
  nodeName: nowhere
  containers: [{name: c, image: i}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: used}}]
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: plain}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: plain}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: plain}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: plain}
subjects: [{kind: ServiceAccount, name: worker, namespace: full}]
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: plain}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: held, finalizers: [example.com/hold]}}
`

void describe('kubectl delete', () => {
  let cluster: ProcessCluster
  const ok = (args: readonly string[], input?: string): Promise<string> =>
    kubectl.ok(cluster.kubeconfig, args, input)
  const run = (args: readonly string[]) => kubectl.run(cluster.kubeconfig, args)
  const release = (what: string): Promise<string> =>
    ok(['patch', ...what.split(' '), '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
    await ok(['apply', '-f', '-'], widgets)
    await ok(['wait', '--for=condition=Established', 'crd/widgets.example.com', '--timeout=100s'])
  })
  after(() => cluster.remove())

  void test('a namespace full of objects of many kinds goes once its finalizers are removed', async () => {
    await ok(['create', 'namespace', 'full'])
    await ok(['apply', '-n', 'full', '-f', '-'], content)
    const deletion = kubectl.follow(cluster.kubeconfig, ['delete', 'namespace', 'full', '--timeout=10m'])
    const conditions = ['get', 'namespace', 'full', '-o', 'jsonpath={.status.conditions[*].message}']
    let seen = ''
    await until(
      'the namespace reports its finalizers',
      async () => /example.com\/hold in 2 resource instances/.test((seen = (await run(conditions)).stdout)),
      () => seen,
    )
    for (const held of ['configmap held', 'widget held']) await release(`${held} -n full`)
    await until('kubectl ends', () => deletion.child.exitCode !== null, deletion.reported)
    assert.equal(deletion.child.exitCode, 0, deletion.reported())
    assert.match((await run(['get', 'namespace', 'full'])).stderr, /NotFound/)
    assert.match(
      (await run(['get', 'configmaps,pods,pvc,widgets', '-n', 'full'])).stderr,
      /No resources found/,
    )
  })

  void test('a Foreground deletion waits until all blocking dependents are gone', async () => {
    await ok(['create', 'configmap', 'owner'])
    const uid = await ok(['get', 'configmap', 'owner', '-o', 'jsonpath={.metadata.uid}'])
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid, blockOwnerDeletion: true }
    for (const [kind, apiVersion] of [
      ['Secret', 'v1'],
      ['Widget', 'example.com/v1'],
    ]) {
      const metadata = { name: 'child', ownerReferences: [reference], finalizers: ['example.com/hold'] }
      await ok(['apply', '-f', '-'], JSON.stringify({ apiVersion, kind, metadata }))
    }
    const words = ['delete', 'configmap', 'owner', '--cascade=foreground', '--wait', '--timeout=10m']
    const deletion = kubectl.follow(cluster.kubeconfig, words)
    const times = ['get', 'secret,widget', '-o', 'jsonpath={.items[*].metadata.deletionTimestamp}']
    await until('both dependents are being deleted', async () => {
      return (await ok(times)).split(' ').filter((time) => time !== '').length === 2
    })
    await release('secret child')
    assert.match(await ok(['get', 'configmap', 'owner', '-o', 'name']), /owner/)
    assert.equal(deletion.child.exitCode, null)
    await release('widget child')
    await until('kubectl ends', () => deletion.child.exitCode !== null, deletion.reported)
    assert.equal(deletion.child.exitCode, 0, deletion.reported())
    assert.match((await run(['get', 'configmap', 'owner'])).stderr, /NotFound/)
  })

  void test('a deletion that orphans keeps the dependents', async () => {
    await ok(['create', 'configmap', 'parent'])
    const uid = await ok(['get', 'configmap', 'parent', '-o', 'jsonpath={.metadata.uid}'])
    const metadata = {
      name: 'kept',
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'parent', uid }],
    }
    await ok(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata }))
    await ok(['delete', 'configmap', 'parent', '--cascade=orphan', '--timeout=10m'])
    assert.equal(await ok(['get', 'secret', 'kept', '-o', 'jsonpath={.metadata.ownerReferences}']), '')
  })

  void test('a Pod on a node is removed at once by force, and stays with its grace period otherwise', async () => {
    const pod = (name: string): string =>
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
        spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
      })
    await ok(
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }),
    )
    for (const name of ['soft', 'now', 'forced']) await ok(['create', '-f', '-'], pod(name))
    const grace = (name: string): Promise<string> =>
      ok(['get', 'pod', name, '-o', 'jsonpath={.metadata.deletionGracePeriodSeconds}'])
    await ok(['delete', 'pod', 'soft', '--wait=false'])
    assert.equal(await grace('soft'), '30')
    await ok(['delete', 'pod', 'now', '--now', '--wait=false'])
    assert.equal(await grace('now'), '1')
    await ok(['delete', 'pod', 'soft', '--grace-period=5', '--wait=false'])
    assert.equal(await grace('soft'), '5')
    const forced = await run(['delete', 'pod', 'forced', 'now', 'soft', '--force', '--grace-period=0'])
    assert.equal(forced.code, 0, forced.stderr)
    assert.match((await run(['get', 'pods'])).stderr, /No resources found/)
    // kubectl itself refuses this: `--now` is a grace period of one second.
    const both = await run(['delete', 'pod', 'forced', '--force', '--now'])
    assert.equal(both.code, 1)
    assert.match(both.stderr, /--force and --grace-period greater than 0 cannot be specified together/)
  })
})
