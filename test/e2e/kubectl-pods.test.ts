/*
 * Goal: what people do with Pods and workloads through kubectl works unchanged.
 * Method: a real kubectl against a real process (`long/variants`: in each domain); the test writes
 * the status of Pods in place of a node, and that of Deployments and their history in place of a
 * controller.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { controllerRevisionOf, replicaSetOf } from '../support/fixtures/rollout-history.ts'
import type { Workload } from '../support/fixtures/rollout-history.ts'
import { someDomains } from '../support/fixtures/variants.ts'
import { until } from '../support/tools/until.ts'

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

    const read = async (...words: readonly string[]): Promise<unknown> => JSON.parse(await ok(words))
    const workload = async (kind: Workload['kind'], name: string): Promise<Workload> => {
      return { kind, name, uid: await ok(['get', kind, name, '-o', 'jsonpath={.metadata.uid}']) }
    }
    const createObject = (object: JsonObject): Promise<string> =>
      ok(['create', '-f', '-'], JSON.stringify(object))

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
      const copy = ['debug', 'web', '--image=registry.test/tools', '--container=look', '--attach=false']
      await ok([...copy, '--copy-to=copied'])
      const names = 'jsonpath={.spec.containers[*].name}'
      assert.equal(await ok(['get', 'pod', 'copied', '-o', names]), 'web look')
      await ok(['delete', 'pod', 'copied'])
    })

    void test('top fails with a clear message without the metrics API', async () => {
      for (const kind of ['node', 'pod']) {
        const { code, stderr } = await kubectl.run(cluster.kubeconfig, ['top', kind])
        assert.deepEqual([code, stderr], [1, 'error: Metrics API not available\n'])
      }
    })

    void test('a deleted Pod that is bound to a node stays until it is deleted with grace period 0', async () => {
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

    void test('a drain waits for the disruption budget of a running Pod', async () => {
      const spec = { nodeName: 'm2', containers: [{ name: 'main', image: 'registry.test/app:1' }] }
      const metadata = { name: 'guarded', labels: { app: 'guarded' } }
      await createObject({ apiVersion: 'v1', kind: 'Pod', metadata, spec })
      const statusOf = (kind: string, status: object): Promise<string> => {
        const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]
        return ok(['patch', kind, 'guarded', ...patch])
      }
      const conditions = [{ type: 'Ready', status: 'True' }]
      await statusOf('pod', { phase: 'Running', conditions })
      await ok(['create', 'pdb', 'guarded', '--selector=app=guarded', '--min-available=1'])
      const counts = { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 }
      await statusOf('pdb', { ...counts, disruptionsAllowed: 0 })
      const drain = ['drain', 'm2', '--force', '--grace-period=0']
      const refused = await kubectl.run(cluster.kubeconfig, [...drain, '--timeout=1s'])
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /Cannot evict pod as it would violate the pod's disruption budget\./)
      await statusOf('pdb', { disruptionsAllowed: 1 })
      assert.match(await ok([...drain, '--timeout=100s']), /^pod\/guarded evicted$/m)
      assert.match(await ok(['describe', 'pdb', 'guarded']), /Allowed disruptions: +0$/m)
    })

    void test('a Deployment is exposed, scaled, autoscaled, and changed by set, which changes the selector of a Service too', async () => {
      await ok(['create', 'deployment', 'shop', '--image=registry.test/web:1', '--replicas=2', '--port=80'])
      await ok(['scale', 'deploy/shop', '--current-replicas=2', '--replicas=5'])
      const stale = ['scale', 'deploy/shop', '--current-replicas=2', '--replicas=1']
      assert.match((await kubectl.run(cluster.kubeconfig, stale)).stderr, /Expected replicas to be 2, was 5/)
      const scale = await ok(['get', 'deploy', 'shop', '--subresource=scale'])
      assert.match(scale, /^NAME +DESIRED +AVAILABLE +AGE\nshop +5 +0 +\S+\n$/)

      await ok(['expose', 'deployment', 'shop', '--port=80', '--target-port=8080'])
      await ok(['run', 'single', '--image=i', '--port=81', '--labels=app=single', '--expose', '--', 'a'])
      await ok(['expose', 'pod', 'single', '--port=82', '--name=single-again'])
      await ok(['expose', 'service', 'shop', '--port=83', '--name=shop-again', '--type=NodePort'])
      const columns = ['metadata.name', 'spec.type', 'spec.ports[0].port', 'spec.ports[0].targetPort']
      const shown = [...columns, 'spec.selector.app'].map((path) => `:.${path}`).join(',')
      const services = await ok(['get', 'services', '-o', `custom-columns=${shown}`])
      for (const row of [
        /^shop +ClusterIP +80 +8080 +shop *$/m,
        /^shop-again +NodePort +83 +83 +shop *$/m,
        /^single +ClusterIP +81 +81 +single *$/m,
        /^single-again +ClusterIP +82 +82 +single *$/m,
      ])
        assert.match(services, row)

      await ok(['autoscale', 'deployment', 'shop', '--min=2', '--max=7', '--cpu-percent=70'])
      const hpa = /^shop +Deployment\/shop +<unknown>\/70% +2 +7 +0 +\S+$/m
      assert.match(await ok(['get', 'hpa']), hpa)
      const metric = /resource cpu on pods +\(as a percentage of request\): +<unknown> \/ 70%/
      assert.match(await ok(['describe', 'hpa', 'shop']), metric)

      await ok(['create', 'configmap', 'settings', '--from-literal=COLOUR=blue'])
      for (const words of [
        ['image', 'deploy/shop', 'web=registry.test/web:2'],
        ['env', 'deploy/shop', 'A=b'],
        ['env', 'deploy/shop', '--from=configmap/settings', '--prefix=S_'],
        ['resources', 'deploy/shop', '--limits=cpu=200m,memory=64Mi', '--requests=cpu=100m'],
        ['serviceaccount', 'deployment', 'shop', 'robot'],
        ['selector', 'service', 'shop', 'app=other'],
      ])
        await ok(['set', ...words])
      const container = await read(
        ...['get', 'deploy', 'shop', '-o', 'jsonpath={.spec.template.spec.containers[0]}'],
      )
      assert.deepEqual(container, {
        ...{ name: 'web', image: 'registry.test/web:2', imagePullPolicy: 'IfNotPresent' },
        env: [
          { name: 'A', value: 'b' },
          { name: 'S_COLOUR', valueFrom: { configMapKeyRef: { key: 'COLOUR', name: 'settings' } } },
        ],
        ports: [{ containerPort: 80, protocol: 'TCP' }],
        resources: { limits: { cpu: '200m', memory: '64Mi' }, requests: { cpu: '100m' } },
        ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
      })
      const account = 'jsonpath={.spec.template.spec.serviceAccountName}'
      assert.equal(await ok(['get', 'deploy', 'shop', '-o', account]), 'robot')
      assert.equal(await ok(['get', 'svc', 'shop', '-o', 'jsonpath={.spec.selector}']), '{"app":"other"}')
      await ok(['delete', 'pod', 'single'])
    })

    void test('a rollout of a Deployment is followed, undone, paused and restarted', async () => {
      const image = ['get', 'deploy', 'roll', '-o', 'jsonpath={.spec.template.spec.containers[0].image}']
      await ok(['create', 'deployment', 'roll', '--image=registry.test/main:1', '--replicas=2'])
      const deployment = await workload('Deployment', 'roll')
      const record = async (revision: number): Promise<void> => {
        await createObject(replicaSetOf(deployment, revision, 2))
        const key = 'deployment.kubernetes.io/revision'
        await ok(['annotate', 'deploy', 'roll', `${key}=${revision}`, '--overwrite'])
      }
      const observe = async (status: JsonObject): Promise<void> => {
        const generation = await ok(['get', 'deploy', 'roll', '-o', 'jsonpath={.metadata.generation}'])
        const patch = JSON.stringify({ status: { ...status, observedGeneration: Number(generation) } })
        await ok(['patch', 'deploy', 'roll', '--subresource=status', '--type=merge', '-p', patch])
      }
      const counts = (available: number) => {
        const of = { replicas: 2, updatedReplicas: 2, readyReplicas: available }
        return { ...of, availableReplicas: available, unavailableReplicas: 2 - available }
      }
      await record(1)
      const words = ['rollout', 'status', 'deploy/roll', '--timeout=100s']
      const status = kubectl.follow(cluster.kubeconfig, words)
      const reports = (line: string): Promise<void> =>
        until(line, () => status.lines.includes(line), status.reported)
      const waiting = 'Waiting for deployment "roll" rollout to finish:'
      await reports('Waiting for deployment spec update to be observed...')
      await observe(counts(0))
      await reports(`${waiting} 0 of 2 updated replicas are available...`)
      await observe(counts(1))
      await reports(`${waiting} 1 of 2 updated replicas are available...`)
      await observe({ ...counts(2), conditions: [{ type: 'Available', status: 'True' }] })
      await reports('deployment "roll" successfully rolled out')
      await until('kubectl ends', () => status.child.exitCode === 0, status.reported)
      await ok(['wait', '--for=condition=Available', 'deploy/roll', '--timeout=100s'])
      await ok(['wait', '--for=jsonpath={.status.availableReplicas}=2', 'deploy/roll', '--timeout=100s'])

      await ok(['set', 'image', 'deploy/roll', 'main=registry.test/main:2'])
      await record(2)
      const history = await ok(['rollout', 'history', 'deploy/roll'])
      assert.match(history, /^REVISION +CHANGE-CAUSE\n1 +change 1\n2 +change 2\n/m)
      const first = await ok(['rollout', 'history', 'deploy/roll', '--revision=1'])
      assert.match(first, /Image:\s+registry\.test\/main:1$/m)
      const text = await ok(['describe', 'deploy', 'roll'])
      assert.match(text, /^OldReplicaSets: +roll-hash1 \(0\/2 replicas created\)$/m)
      assert.match(text, /^NewReplicaSet: +roll-hash2 \(0\/2 replicas created\)$/m)

      await ok(['rollout', 'undo', 'deploy/roll', '--dry-run=server'])
      assert.equal(await ok(image), 'registry.test/main:2')
      await ok(['rollout', 'undo', 'deploy/roll'])
      assert.equal(await ok(image), 'registry.test/main:1')
      await ok(['rollout', 'undo', 'deploy/roll', '--to-revision=2'])
      assert.equal(await ok(image), 'registry.test/main:2')
      const labels = 'jsonpath={.spec.template.metadata.labels}'
      assert.equal(await ok(['get', 'deploy', 'roll', '-o', labels]), '{"app":"roll"}')

      await ok(['rollout', 'pause', 'deploy/roll'])
      const paused = await kubectl.run(cluster.kubeconfig, ['rollout', 'undo', 'deploy/roll'])
      assert.match(paused.stderr, /you cannot rollback a paused deployment/)
      await ok(['rollout', 'resume', 'deploy/roll'])
      await ok(['rollout', 'restart', 'deploy/roll'])
      const restarted = 'jsonpath={.spec.paused}{.spec.template.metadata.annotations}'
      assert.match(
        await ok(['get', 'deploy', 'roll', '-o', restarted]),
        /^\{"kubectl\.kubernetes\.io\/restartedAt":"[^"]+"\}$/,
      )
      const reason = 'ProgressDeadlineExceeded'
      await observe({ conditions: [{ type: 'Progressing', status: 'False', reason }] })
      const late = await kubectl.run(cluster.kubeconfig, ['rollout', 'status', 'deploy/roll'])
      assert.deepEqual(
        [late.code, late.stderr],
        [1, 'error: deployment "roll" exceeded its progress deadline\n'],
      )
    })

    void test('a rollout of a DaemonSet is undone by a patch that replaces its template', async () => {
      const labels = { app: 'agent' }
      const containers = [
        { name: 'main', image: 'registry.test/main:2', env: [{ name: 'NEW', value: 'x' }] },
        { name: 'second', image: 'registry.test/second' },
      ]
      await createObject({
        ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent' } },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
      })
      const daemonSet = await workload('DaemonSet', 'agent')
      for (const revision of [1, 2]) await createObject(controllerRevisionOf(daemonSet, revision))
      assert.match(await ok(['rollout', 'history', 'ds/agent']), /^1 +<none>\n2 +<none>$/m)
      await ok(['rollout', 'undo', 'ds/agent'])
      const names = ['name', 'image', 'env'].map((name) => `{.spec.template.spec.containers[*].${name}}`)
      assert.equal(
        await ok(['get', 'ds', 'agent', '-o', `jsonpath=${names.join(' ')}`]),
        'main registry.test/main:1 ',
      )
    })

    void test('cluster-info dump has the objects of a namespace', async () => {
      await ok(['run', 'dumped', '--image=registry.test/app'])
      const dump = await ok(['cluster-info', 'dump', '--namespaces=default'])
      for (const kind of [
        'NodeList',
        'EventList',
        'ServiceList',
        'DaemonSetList',
        'DeploymentList',
        'PodList',
      ])
        assert.match(dump, new RegExp(`"kind": "${kind}"`), kind)
      assert.match(dump, /"name": "dumped"/)
      assert.match(dump, /^==== START logs for container dumped of pod default\/dumped ====$/m)
      await ok(['delete', 'pod', 'dumped'])
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
