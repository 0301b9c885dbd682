/*
 * Goal: the typed verbs of kubectl for access control, nodes and certificates work unchanged, and
 * `kubectl create` makes an object of every kind that it has a command for.
 * Method: a real kubectl against a real process in the domain whose names it knows.
 */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { TestAuthority } from '../../fixtures/server-fixture.ts'
import { objectMember, objectsMember } from '../../src/api/json.ts'
import type { Json, JsonObject } from '../../src/api/json.ts'
import { certificateRequest } from '../support/fixtures/certificate-request.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()

void describe('kubectl and access control', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 1, domain: 'k8s.io' })
  })
  after(() => cluster.remove())

  const ok = (args: readonly string[], input?: string): Promise<string> =>
    kubectl.ok(cluster.kubeconfig, args, input)
  const get = async (namespace: string, name: string): Promise<JsonObject> =>
    JSON.parse(await ok(['get', '-n', namespace, name, '-o', 'json'])) as JsonObject
  const apply = (object: object): Promise<string> => ok(['apply', '-f', '-'], JSON.stringify(object))

  void test('kubectl auth can-i checks and lists permissions', async () => {
    assert.equal(await ok(['auth', 'can-i', 'delete', 'secrets']), 'yes\n')
    assert.match(await ok(['auth', 'can-i', '--list']), /^\*\.\* +\[\] +\[\] +\[\*\]$/m)
  })

  void test('roles and bindings are created from arguments', async () => {
    await ok(['create', 'role', 'reader', '--verb=get,list', '--resource=configmaps,secrets'])
    await ok(['create', 'clusterrole', 'healer', '--verb=get', '--non-resource-url=/healthz'])
    await ok(['create', 'clusterrole', 'sum', '--aggregation-rule=part=sum'])
    const to = ['--user=jane', '--group=staff', '--serviceaccount=default:robot']
    await ok(['create', 'rolebinding', 'readers', '--role=reader', ...to])
    await ok(['create', 'clusterrolebinding', 'healers', '--clusterrole=healer', ...to])
    const wide = /^readers +Role\/reader +\S+ +jane +staff +default\/robot$/m
    assert.match(await ok(['get', 'rolebindings', '-o', 'wide']), wide)
    assert.match(await ok(['get', 'clusterrolebindings']), /^healers +ClusterRole\/healer +\S+$/m)
    assert.match(await ok(['describe', 'role', 'reader']), /configmaps +\[\] +\[\] +\[get list\]/)
    assert.match(await ok(['describe', 'clusterrolebinding', 'healers']), /ServiceAccount +robot +default/)
    const more = ['--user=bob', '--group=ops', '--serviceaccount=default:other']
    await ok(['set', 'subject', 'rolebinding', 'readers', ...more])
    const wider = /^readers +Role\/reader +\S+ +jane, bob +staff, ops +default\/robot, default\/other$/m
    assert.match(await ok(['get', 'rolebindings', '-o', 'wide']), wider)
    const sum = 'jsonpath={.aggregationRule.clusterRoleSelectors}'
    assert.equal(await ok(['get', 'clusterrole', 'sum', '-o', sum]), '[{"matchLabels":{"part":"sum"}}]')
  })

  void test('auth can-i --list shows the rules of the roles of a user', async () => {
    let listed = ''
    await until(
      'the binding counts',
      async () => (listed = await ok(['auth', 'can-i', '--list', '--as=jane'])).includes('configmaps'),
      () => listed,
    )
    assert.match(listed, /^configmaps +\[\] +\[\] +\[get list\]$/m)
    assert.match(listed, /^ +\[\/healthz\] +\[\] +\[get\]$/m)
    assert.match(listed, /^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m)
    assert.doesNotMatch(listed, /^\*\.\*/m)
  })

  void test('workloads are created from arguments, and get all shows them with their Services', async () => {
    await ok(['create', 'namespace', 'made'])
    const create = (...words: readonly string[]) => ok(['create', '-n', 'made', ...words])
    await create('deployment', 'web', '--image=registry.test/web:1', '--replicas=3', '--port=80')
    await create('service', 'clusterip', 'cip', '--tcp=80:8080')
    await create('service', 'clusterip', 'headless', '--clusterip=None')
    await create('service', 'nodeport', 'np', '--tcp=80:8080', '--node-port=30080')
    await create('service', 'loadbalancer', 'lb', '--tcp=443:8443')
    await create('service', 'externalname', 'ext', '--external-name=db.example.com')
    await create('job', 'once', '--image=registry.test/job', '--', 'run', 'me')
    await create('cronjob', 'nightly', '--image=registry.test/job', '--schedule=0 1 * * *', '--', 'run')
    await create('job', 'now', '--from=cronjob/nightly')

    const all = await ok(['get', 'all', '-A', '-o', 'wide'])
    for (const row of [
      /^default +service\/kubernetes +ClusterIP +10\.96\.0\.1 +<none> +443\/TCP +\S+ +<none>$/m,
      /^made +service\/cip +ClusterIP +10\.\S+ +<none> +80\/TCP +\S+ +app=cip$/m,
      /^made +service\/headless +ClusterIP +None +<none> +<none> +\S+ +app=headless$/m,
      /^made +service\/np +NodePort +10\.\S+ +<none> +80:30080\/TCP +\S+ +app=np$/m,
      /^made +service\/lb +LoadBalancer +10\.\S+ +<pending> +443:3\d{4}\/TCP +\S+ +app=lb$/m,
      /^made +service\/ext +ExternalName +<none> +db\.example\.com +<none> +\S+ +app=ext$/m,
      /^made +deployment\.apps\/web +0\/3 +0 +0 +\S+ +web +registry\.test\/web:1 +app=web$/m,
      /^made +job\.batch\/once .* once +registry\.test\/job +controller-uid=\S+$/m,
      /^made +cronjob\.batch\/nightly +0 1 \* \* \* .* nightly +registry\.test\/job +<none>$/m,
    ])
      assert.match(all, row)
    const uid = await ok(['get', 'cronjob', 'nightly', '-n', 'made', '-o', 'jsonpath={.metadata.uid}'])
    const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'nightly', uid, controller: true }
    const job = await get('made', 'job/now')
    const { annotations, ownerReferences } = objectMember(job, 'metadata')
    assert.deepEqual(ownerReferences, [owner])
    assert.deepEqual(annotations, { 'cronjob.kubernetes.io/instantiate': 'manual' })
    const pod = objectMember(objectMember(objectMember(job, 'spec'), 'template'), 'spec')
    assert.deepEqual(objectsMember(pod, 'containers')[0]?.['command'], ['run'])
  })

  void test('policies, quotas, priorities, configuration and Secrets are created from arguments', async (t) => {
    const files = join(cluster.kubeconfig, '..')
    const { cert, key } = new TestAuthority('ca').client('a', [])
    for (const [name, text] of Object.entries({ 'a.crt': cert, 'a.key': key, 'a.env': 'E=1\n' })) {
      writeFileSync(join(files, name), text)
      t.after(() => rmSync(join(files, name)))
    }
    const path = (name: string): string => join(files, name)
    const rule = '--rule=a.example.com/x*=cip:80,tls=cert'
    const registry = ['--docker-server=registry.test', '--docker-username=u', '--docker-password=p']
    for (const words of [
      ['ingress', 'ing', '--class=nginx', rule, '--annotation=a/b=c', '--default-backend=lb:443'],
      ['pdb', 'least', '--selector=app=web', '--min-available=2'],
      ['poddisruptionbudget', 'most', '--selector=app=web', '--max-unavailable=50%'],
      ['quota', 'amounts', '--hard=cpu=10,pods=20,count/leases.coordination.k8s.io=5'],
      ['quota', 'scoped', '--hard=pods=3', '--scopes=BestEffort'],
      ['priorityclass', 'high', '--value=1000', '--description=important', '--preemption-policy=Never'],
      ['configmap', 'literal', '--from-literal=a=1', `--from-file=b=${path('a.env')}`],
      ['configmap', 'env', `--from-env-file=${path('a.env')}`],
      ['secret', 'generic', 'gen', '--from-literal=user=jane', '--type=example.com/x'],
      ['secret', 'tls', 'pair', `--cert=${path('a.crt')}`, `--key=${path('a.key')}`],
      ['secret', 'docker-registry', 'reg', ...registry],
    ])
      await ok(['create', ...words])
    await ok(['create', 'serviceaccount', 'bound'])
    const binding = ['--bound-object-kind=Secret', '--bound-object-name=gen']
    const token = await ok(['create', 'token', 'bound', '--audience=api', '--duration=1h', ...binding])
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JsonObject
    assert.deepEqual(claims['aud'], ['api'])
    assert.equal(objectMember(objectMember(claims, 'kubernetes.io'), 'secret')['name'], 'gen')

    const spec = async (of: string): Promise<Json | undefined> => (await get('default', of))['spec']
    const backend = (name: string, number: number) => ({ service: { name, port: { number } } })
    const paths = [{ path: '/x', pathType: 'Prefix', backend: backend('cip', 80) }]
    assert.deepEqual(await spec('ingress/ing'), {
      ingressClassName: 'nginx',
      defaultBackend: backend('lb', 443),
      tls: [{ hosts: ['a.example.com'], secretName: 'cert' }],
      rules: [{ host: 'a.example.com', http: { paths } }],
    })
    const selector = { matchLabels: { app: 'web' } }
    assert.deepEqual(await spec('pdb/least'), { minAvailable: 2, selector })
    assert.deepEqual(await spec('pdb/most'), { maxUnavailable: '50%', selector })
    assert.deepEqual(await spec('quota/scoped'), { hard: { pods: '3' }, scopes: ['BestEffort'] })
    const hard = { cpu: '10', pods: '20', 'count/leases.coordination.k8s.io': '5' }
    assert.deepEqual(await spec('quota/amounts'), { hard })
    const high = await get('default', 'priorityclass/high')
    const { value, description, preemptionPolicy } = high
    assert.deepEqual([value, description, preemptionPolicy], [1000, 'important', 'Never'])
    assert.deepEqual((await get('default', 'cm/literal'))['data'], { a: '1', b: 'E=1\n' })
    assert.deepEqual((await get('default', 'cm/env'))['data'], { E: '1' })
    assert.deepEqual((await get('default', 'secret/pair'))['data'], {
      'tls.crt': Buffer.from(cert).toString('base64'),
      'tls.key': Buffer.from(key).toString('base64'),
    })
    const secrets = await ok(['get', 'secrets'])
    assert.match(secrets, /^gen +example\.com\/x +1 +\S+$/m)
    assert.match(secrets, /^pair +kubernetes\.io\/tls +2 +\S+$/m)
    assert.match(secrets, /^reg +kubernetes\.io\/dockerconfigjson +1 +\S+$/m)

    const wrong = await kubectl.run(cluster.kubeconfig, [
      ...['create', 'quota', 'wrong', '--hard=services=1', '--scopes=BestEffort'],
    ])
    assert.equal(wrong.code, 1)
    assert.match(
      wrong.stderr,
      /spec\.scopes: Invalid value: \[\]core\.ResourceQuotaScope\{"BestEffort"\}: unsupported scope applied to resource/,
    )
  })

  void test('service accounts are created and shown', async () => {
    await ok(['create', 'serviceaccount', 'robot'])
    assert.match(await ok(['get', 'sa', 'robot']), /^NAME +SECRETS +AGE\nrobot +0 +\S+\n$/)
  })

  void test('a node is cordoned, tainted and uncordoned', async () => {
    const status = {
      conditions: [{ type: 'Ready', status: 'True' }],
      nodeInfo: { kubeletVersion: 'v1.24.0' },
    }
    const labels = { 'node-role.kubernetes.io/worker': '' }
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'm1', labels }, status })
    assert.match(await ok(['get', 'nodes']), /^m1 +Ready +worker +\S+ +v1\.24\.0$/m)
    await ok(['cordon', 'm1'])
    assert.match(await ok(['get', 'nodes']), /^m1 +Ready,SchedulingDisabled +worker /m)
    await ok(['taint', 'node', 'm1', 'only=robots:NoExecute'])
    assert.equal(
      await ok(['get', 'no', 'm1', '-o', 'jsonpath={.spec.taints[?(@.key=="only")].effect}']),
      'NoExecute',
    )
    await ok(['taint', 'node', 'm1', 'only-'])
    await ok(['uncordon', 'm1'])
    assert.match(await ok(['get', 'nodes']), /^m1 +Ready +worker /m)
  })

  void test('spec 3.2: a request for a certificate is approved, another denied', async () => {
    for (const name of ['good', 'bad']) {
      const spec = {
        request: Buffer.from(certificateRequest({ commonName: name })).toString('base64'),
        signerName: 'example.com/people',
        usages: ['client auth'],
      }
      await apply({
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name },
        spec,
      })
    }
    await ok(['certificate', 'approve', 'good'])
    await ok(['certificate', 'deny', 'bad'])
    const shown = await ok(['get', 'csr'])
    assert.match(shown, /^good +\S+ +example\.com\/people +\S+ +<none> +Approved$/m)
    assert.match(shown, /^bad +.* Denied$/m)
    assert.match(await ok(['describe', 'csr', 'good']), /Common Name: +good/)
  })

  void test('webhook configurations and leases are applied and shown', async () => {
    const webhook = {
      name: 'check.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/check' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Ignore',
    }
    for (const kind of ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']) {
      const object = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: 'check' } }
      await apply({ ...object, webhooks: [webhook] })
      await apply({ ...object, webhooks: [{ ...webhook, timeoutSeconds: 3 }] })
      assert.match(await ok(['get', kind]), /^NAME +WEBHOOKS +AGE\ncheck +1 +\S+\n$/)
    }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'leader' } }
    await apply({ ...lease, spec: { holderIdentity: 'm1' } })
    assert.match(await ok(['get', 'leases']), /^leader +m1 +\S+$/m)
  })
})
