/*
 * Goal: kubectl works with exactly the permissions that roles grant, as a service account with a
 * token and as an impersonated user; what is withdrawn stops working on every member.
 * Method: a real kubectl against three real processes in the domain whose names it knows. How long
 * a withdrawal takes is printed.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { certificateRequest } from '../support/fixtures/certificate-request.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { KubectlResult } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()

void describe('kubectl with restricted permissions', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  })
  after(() => cluster.remove())

  const ok = (args: readonly string[], input?: string): Promise<string> =>
    kubectl.ok(cluster.kubeconfig, args, input)

  /** Writes a kubeconfig for one member, with a bearer token as the only credential. */
  function tokenConfig(name: string, server: string, token: string): string {
    const config = parse(readFileSync(cluster.kubeconfig, 'utf8')) as Record<string, unknown>
    const [first] = config['clusters'] as [{ name: string; cluster: Record<string, unknown> }]
    const path = join(cluster.members[0]?.directory ?? assert.fail('a member'), `../${name}.kubeconfig`)
    writeFileSync(
      path,
      stringify({
        ...config,
        clusters: [{ name: 'c', cluster: { ...first.cluster, server } }],
        users: [{ name: 'u', user: { token } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    )
    return path
  }

  /** Waits until a command ends as expected on every member, and prints how long each took. */
  async function onEveryMember(
    what: string,
    configs: readonly string[],
    args: readonly string[],
    expected: (result: KubectlResult) => boolean,
  ): Promise<void> {
    const startMs = performance.now()
    const took = await Promise.all(
      configs.map(async (config) => {
        await until(what, async () => expected(await kubectl.run(config, args)))
        return Math.round(performance.now() - startMs)
      }),
    )
    console.log(`# ${what}: after ${took.join(', ')} ms, with the time of kubectl`)
  }

  void test('a service account reads with its token what its role permits, until binding or account are deleted', async () => {
    await ok(['create', 'serviceaccount', 'robot'])
    const token = (await ok(['create', 'token', 'robot', '--duration=1h'])).trim()
    const configs = cluster.members.map(({ name, url }) => tokenConfig(`robot-${name}`, url, token))
    const [first] = configs
    assert.ok(first)
    const read = ['get', 'configmaps']
    const refused = await kubectl.run(first, read)
    assert.match(
      refused.stderr,
      /Error from server \(Forbidden\): configmaps is forbidden: User "system:serviceaccount:default:robot" cannot list resource "configmaps"/,
    )
    await ok(['create', 'rolebinding', 'robots', '--clusterrole=view', '--serviceaccount=default:robot'])
    await onEveryMember('a new binding counts', configs, read, ({ code }) => code === 0)
    assert.equal((await kubectl.run(first, ['auth', 'can-i', 'get', 'secrets'])).stdout, 'no\n')
    assert.match(
      await kubectl.ok(first, ['auth', 'can-i', '--list']),
      /^configmaps +\[\] +\[\] +\[get list watch\]$/m,
    )
    assert.equal((await kubectl.run(first, ['get', 'configmaps', '-n', 'kube-system'])).code, 1)
    assert.match((await kubectl.run(first, ['create', 'configmap', 'mine'])).stderr, / is forbidden: /)

    await ok(['delete', 'rolebinding', 'robots'])
    const isForbidden = ({ stderr }: KubectlResult): boolean => stderr.includes('(Forbidden)')
    await onEveryMember('a deleted binding does not count', configs, read, isForbidden)
    await ok(['delete', 'serviceaccount', 'robot'])
    const isUnauthorized = ({ stderr }: KubectlResult): boolean =>
      /Unauthorized|must be logged in/.test(stderr)
    await onEveryMember('the token of a deleted account is refused', configs, read, isUnauthorized)
  })

  void test('an aggregated role gets the rules of a role that is labelled later, and no other rules', async () => {
    await ok(['create', 'clusterrole', 'sum', '--aggregation-rule=part=sum'])
    await ok(['create', 'clusterrole', 'part', '--verb=get', '--resource=configmaps'])
    await ok(['label', 'clusterrole', 'part', 'part=sum'])
    await ok(['create', 'clusterrolebinding', 'sums', '--clusterrole=sum', '--user=ann'])
    await until(
      'the rule of the part counts',
      async () =>
        (await kubectl.run(cluster.kubeconfig, ['auth', 'can-i', 'get', 'configmaps', '--as=ann'])).stdout ===
        'yes\n',
    )
    assert.equal(
      (await kubectl.run(cluster.kubeconfig, ['auth', 'can-i', 'list', 'configmaps', '--as=ann'])).stdout,
      'no\n',
    )
  })

  void test('an impersonated user has the permissions of its groups, and may not grant more', async () => {
    const asBob = ['--as=bob', '--as-group=editors']
    await ok(['create', 'clusterrolebinding', 'editors', '--clusterrole=edit', '--group=editors'])
    await until(
      'the group may edit',
      async () =>
        (await kubectl.run(cluster.kubeconfig, ['create', 'configmap', 'one', ...asBob])).code === 0,
    )
    const plain = await kubectl.run(cluster.kubeconfig, ['get', 'configmap', 'one', '--as=bob'])
    assert.match(plain.stderr, /User "bob" cannot get resource "configmaps"/)
    await ok(['create', 'clusterrole', 'binder', '--verb=create', '--resource=rolebindings'])
    await ok(['create', 'clusterrolebinding', 'binders', '--clusterrole=binder', '--user=bob'])
    const grant = ['create', 'rolebinding', 'mine', '--clusterrole=cluster-admin', '--user=bob', '--as=bob']
    await until('a grant of more than bob has is refused for that reason', async () => {
      const { stderr } = await kubectl.run(cluster.kubeconfig, grant)
      return stderr.includes('attempting to grant RBAC permissions not currently held')
    })
  })

  void test('spec 3.2: a request for a certificate is approved only with the permission for its signer', async () => {
    const spec = {
      request: Buffer.from(certificateRequest({ commonName: 'good' })).toString('base64'),
      signerName: 'example.com/people',
      usages: ['client auth'],
    }
    const request = {
      ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest' },
      ...{ metadata: { name: 'good' }, spec },
    }
    await ok(['apply', '-f', '-'], JSON.stringify(request))
    const resources = ['certificatesigningrequests', 'certificatesigningrequests/approval']
    await ok([
      ...['create', 'clusterrole', 'requests', '--verb=get,update,patch'],
      `--resource=${resources.join(',')}`,
    ])
    await ok(['create', 'clusterrolebinding', 'requests', '--clusterrole=requests', '--user=cleo'])
    const approve = ['certificate', 'approve', 'good', '--as=cleo']
    await until('the request is refused for the signer', async () => {
      const { stderr } = await kubectl.run(cluster.kubeconfig, approve)
      return /user not permitted to approve requests with signerName "example\.com\/people"/.test(stderr)
    })
    const approver = {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'approver' } },
      rules: [
        {
          ...{ apiGroups: ['certificates.k8s.io'], resources: ['signers'], verbs: ['approve'] },
          resourceNames: ['example.com/*'],
        },
      ],
    }
    await ok(['apply', '-f', '-'], JSON.stringify(approver))
    await ok(['create', 'clusterrolebinding', 'approvers', '--clusterrole=approver', '--user=cleo'])
    await until(
      'the request is approved',
      async () => (await kubectl.run(cluster.kubeconfig, approve)).code === 0,
    )
    assert.match(await ok(['get', 'csr']), /^good +.* Approved$/m)
  })
})
