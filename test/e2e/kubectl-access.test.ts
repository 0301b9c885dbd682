/*
 * Goal: the typed verbs of kubectl for access control, nodes and certificates work unchanged.
 * Method: a real kubectl against a real process in the domain whose names it knows.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { certificateRequest } from '../support/fixtures/certificate-request.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'

const kubectl = Kubectl.find()

void describe('kubectl and access control', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 1, domain: 'k8s.io' })
  })
  after(() => cluster.remove())

  const ok = (args: readonly string[], input?: string): Promise<string> =>
    kubectl.ok(cluster.kubeconfig, args, input)
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
