/*
 * Goal: a certificate that a user or a node requests logs in as the expected user with the expected
 * groups, on every member. Method: openssl makes the requests, kubectl approves, real processes
 * issue, and a TLS client with the certificate gets a refusal that names the user, or reads what
 * its group may read.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ApiClient } from '../support/drivers/api-client.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()
const keyTypes = {
  rsa: ['rsa:2048'],
  ecdsa: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  ed25519: ['ed25519'],
} as const
const nodeUsages = ['digital signature', 'key encipherment', 'client auth']

void describe('certificates of three members', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  })
  after(() => cluster.remove())

  const pathOf = (name: string): string => join(cluster.directory, name)

  /** Makes a key and a request with openssl. @returns the request in base64 */
  function request(name: string, type: keyof typeof keyTypes, subject: string): string {
    const files = ['-keyout', pathOf(`${name}.key`), '-out', pathOf(`${name}.csr`)]
    execFileSync(
      'openssl',
      ['req', '-new', '-nodes', '-newkey', ...keyTypes[type], ...files, '-subj', subject],
      { stdio: 'pipe' },
    )
    return readFileSync(pathOf(`${name}.csr`)).toString('base64')
  }

  function bodyOf(name: string, signer: string, csr: string, usages: readonly string[]): object {
    return {
      ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name } },
      spec: { signerName: `kubernetes.io/${signer}`, request: csr, usages, expirationSeconds: 3600 },
    }
  }

  async function certificate(name: string): Promise<string> {
    const read = ['get', 'csr', name, '-o', 'jsonpath={.status.certificate}']
    let encoded = ''
    await until(`${name} is issued`, async () => {
      encoded = await kubectl.ok(cluster.kubeconfig, read)
      return encoded !== ''
    })
    return Buffer.from(encoded, 'base64').toString()
  }

  /** Returns the user that each member sees. */
  async function usersOf(name: string): Promise<readonly string[]> {
    const { ca } = cluster.credentials
    const key = readFileSync(pathOf(`${name}.key`), 'utf8')
    const cert = await certificate(name)
    return Promise.all(
      cluster.members.map(async ({ client }) => {
        const caller = new ApiClient(client.url.href, { ca, cert, key })
        try {
          let seen = ''
          // A member knows the authority once it has applied it.
          await until(`the certificate of ${name} is accepted`, async () => {
            const reply = await caller.get('/api/v1/namespaces/kube-system/secrets')
            seen = reply.text
            return reply.status !== 401
          })
          return /User \\?"([^"\\]+)\\?" cannot /.exec(seen)?.[1] ?? seen
        } finally {
          caller.close()
        }
      }),
    )
  }

  for (const type of Object.keys(keyTypes) as (keyof typeof keyTypes)[]) {
    void test(`spec 2.11: a certificate for an ${type} key logs in once kubectl has approved it`, async () => {
      const name = `jane-${type}`
      const csr = request(name, type, `/O=testers/CN=${name}`)
      const body = JSON.stringify(bodyOf(name, 'kube-apiserver-client', csr, ['client auth']))
      await kubectl.ok(cluster.kubeconfig, ['create', '-f', '-'], body)
      await kubectl.ok(cluster.kubeconfig, ['certificate', 'approve', name])
      assert.deepEqual(await usersOf(name), [name, name, name])
      const issued = execFileSync('openssl', ['x509', '-noout', '-subject', '-ext', 'extendedKeyUsage'], {
        input: await certificate(name),
      }).toString()
      assert.match(issued, /O = testers/)
      assert.match(issued, /TLS Web Client Authentication/)
    })
  }

  void test('spec 2.11: the group of an issued certificate has its permissions', async () => {
    const binding = [
      'create',
      'clusterrolebinding',
      'testers',
      '--clusterrole=cluster-admin',
      '--group=testers',
    ]
    await kubectl.ok(cluster.kubeconfig, binding)
    const { ca } = cluster.credentials
    const key = readFileSync(pathOf('jane-rsa.key'), 'utf8')
    const [member] = cluster.members
    assert.ok(member)
    const caller = new ApiClient(member.client.url.href, { ca, cert: await certificate('jane-rsa'), key })
    const path = '/api/v1/namespaces/kube-system/secrets'
    await until('the group may read', async () => (await caller.get(path)).status === 200)
    caller.close()
  })

  void test('spec 2.11: a request that breaks a rule fails with the rule, and kubectl shows it', async () => {
    const csr = request('weak', 'rsa', '/O=system:nodes/CN=n1')
    const body = JSON.stringify(bodyOf('weak', 'kube-apiserver-client-kubelet', csr, nodeUsages))
    await kubectl.ok(cluster.kubeconfig, ['create', '-f', '-'], body)
    await kubectl.ok(cluster.kubeconfig, ['certificate', 'approve', 'weak'])
    const read = ['get', 'csr', 'weak', '-o', 'jsonpath={.status.conditions[?(@.type=="Failed")].message}']
    let message = ''
    await until('the request has failed', async () => {
      message = await kubectl.ok(cluster.kubeconfig, read)
      return message !== ''
    })
    assert.equal(message, 'subject common name does not begin with system:node:')
    assert.match(await kubectl.ok(cluster.kubeconfig, ['get', 'csr', 'weak']), /Approved,Failed/)
  })

  void test('spec 2.11: a node gets its client certificate without an approver', async () => {
    const rules = ['--verb=create', '--resource=certificatesigningrequests.certificates.k8s.io/nodeclient']
    await kubectl.ok(cluster.kubeconfig, ['create', 'clusterrole', 'nodeclient', ...rules])
    const binding = ['--clusterrole=nodeclient', '--user=admin']
    await kubectl.ok(cluster.kubeconfig, ['create', 'clusterrolebinding', 'nodeclient', ...binding])
    const node = async (name: string): Promise<void> => {
      const csr = request(name, 'ecdsa', `/O=system:nodes/CN=system:node:${name}`)
      const body = JSON.stringify(bodyOf(name, 'kube-apiserver-client-kubelet', csr, nodeUsages))
      await kubectl.ok(cluster.kubeconfig, ['create', '-f', '-'], body)
    }
    await node('n1')
    const user = 'system:node:n1'
    assert.deepEqual(await usersOf('n1'), [user, user, user])
  })
})
