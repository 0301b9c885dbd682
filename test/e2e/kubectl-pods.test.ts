/*
 * Goal: what people do with Pods through kubectl works unchanged, in each domain.
 * Method: a real kubectl against a real process; the test writes the Pod status in place of a node.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()

for (const domain of someDomains) {
  void describe(`kubectl and Pods in ${domain}`, () => {
    let cluster: ProcessCluster

    before(async () => {
      cluster = await ProcessCluster.start({ members: 1, domain })
    })
    after(() => cluster.remove())

    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)
    const reported = (status: object): Promise<string> => {
      const patch = JSON.stringify({ status })
      return ok(['patch', 'pod', 'web', '--subresource=status', '--type=merge', '-p', patch])
    }

    void test('a Pod is run, described and shown', async () => {
      await ok(['run', 'web', '--image=registry.test/app', '--labels=app=web', '--port=80', '--env=A=b'])
      assert.match(
        await ok(['get', 'pods']),
        /^NAME +READY +STATUS +RESTARTS +AGE\nweb +0\/1 +Pending +0 +\S+\n$/,
      )
      assert.match(await ok(['get', 'po', '-o', 'wide']), /^web .* <none> +<none> +<none> +<none>$/m)
      const text = await ok(['describe', 'pod', 'web'])
      assert.match(text, /QoS Class: +BestEffort/)
      assert.match(text, /^Events: +<none>$/m)
      assert.match(await ok(['explain', 'pod.spec.containers', '--recursive']), /terminationMessagePolicy\s/)
      const path = 'jsonpath={.spec.containers[0].imagePullPolicy} {.spec.restartPolicy}'
      assert.equal(await ok(['get', 'pod', 'web', '-o', path]), 'Always Always')
    })

    void test('an update of a Pod changes its image and no immutable field', async () => {
      await ok(['set', 'image', 'pod/web', 'web=registry.test/app:2'])
      const refusal = await kubectl.run(cluster.kubeconfig, ['set', 'env', 'pod/web', 'A=c'])
      assert.equal(refusal.code, 1)
      assert.match(refusal.stderr, /pod updates may not change fields other than/)
    })

    void test('the status reported by the node is shown', async () => {
      const running = {
        name: 'web',
        ready: true,
        restartCount: 0,
        image: 'i',
        imageID: 'i',
        state: { running: {} },
      }
      await reported({
        phase: 'Running',
        podIP: '10.0.0.1',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [running],
      })
      assert.match(await ok(['get', 'pods', '-o', 'wide']), /^web +1\/1 +Running +0 +\S+ +10\.0\.0\.1 /m)
      await ok(['wait', '--for=condition=Ready', 'pod/web', '--timeout=100s'])
      const chosen = ['get', 'pods', '--field-selector=status.phase=Running', '-o', 'name']
      assert.equal(await ok(chosen), 'pod/web\n')
    })

    void test('an ephemeral container is added for debugging', async () => {
      await ok([
        'debug',
        'web',
        '--image=registry.test/tools',
        '--container=look',
        '--target=web',
        '--attach=false',
      ])
      const path = 'jsonpath={.spec.ephemeralContainers[*].name}'
      assert.equal(await ok(['get', 'pod', 'web', '-o', path]), 'look')
    })

    void test('a Pod bound to a node stays until the node confirms its end', async () => {
      const spec = { nodeName: 'm1', containers: [{ name: 'main', image: 'registry.test/app:1' }] }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'placed' }, spec }
      await ok(['apply', '-f', '-'], JSON.stringify(pod))
      await ok(['delete', 'pod', 'placed', '--wait=false', '--grace-period=5'])
      assert.match(await ok(['get', 'pod', 'placed']), /^placed +0\/1 +Terminating /m)
      await ok(['delete', 'pod', 'placed', '--grace-period=0', '--force'])
      await ok(['delete', 'pod', 'web'])
      assert.equal(await ok(['get', 'pods', '-o', 'name']), '')
    })

    void test('draining a node evicts its Pods and no others', async () => {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm2' } }
      await ok(['create', '-f', '-'], JSON.stringify(node))
      const containers = [{ name: 'main', image: 'registry.test/app:1' }]
      for (const [name, nodeName] of [
        ['there', 'm2'],
        ['bound', ''],
        ['elsewhere', 'm3'],
      ] as const) {
        const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, nodeName } }
        await ok(['create', '-f', '-'], JSON.stringify(pod))
      }
      const target = { kind: 'Node', name: 'm2' }
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'bound' }, target }
      const path = '/api/v1/namespaces/default/bindings'
      await ok(['create', '--raw', path, '-f', '-'], JSON.stringify(binding))
      assert.match(await ok(['get', 'pod', 'bound', '-o', 'wide']), /^bound .* m2 +<none> +<none>$/m)
      assert.equal(await ok(['cordon', 'm2']), 'node/m2 cordoned\n')
      assert.match(await ok(['get', 'node', 'm2']), /^m2 +\S*,?SchedulingDisabled /m)
      const how = ['--force', '--ignore-daemonsets', '--disable-eviction=false', '--grace-period=0']
      const drained = await ok(['drain', 'm2', ...how, '--timeout=100s'])
      for (const name of ['there', 'bound']) assert.match(drained, new RegExp(`^pod/${name} evicted$`, 'm'))
      assert.match(drained, /^node\/m2 drained$/m)
      assert.equal(await ok(['get', 'pods', '-o', 'name']), 'pod/elsewhere\n')
      assert.equal(await ok(['uncordon', 'm2']), 'node/m2 uncordoned\n')
      await ok(['delete', 'pod', 'elsewhere', '--grace-period=0', '--force'])
    })

    void test('strict validation refuses a misspelled field', async () => {
      const spec = { contaners: [], containers: [{ name: 'a', image: 'i' }] }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec }
      const args = ['create', '--validate=strict', '-f', '-']
      const refusal = await kubectl.run(cluster.kubeconfig, args, JSON.stringify(pod))
      assert.equal(refusal.code, 1)
      assert.match(refusal.stderr, /unknown field "spec\.contaners"/)
    })
  })
}
