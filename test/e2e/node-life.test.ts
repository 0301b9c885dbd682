/*
 * Goal: a node that has only a token joins, gets a serving certificate, renews its client
 * certificate, and can register no other node. Method: three real processes (`long/variants`: in
 * each domain); a client acts as the node agent: every step uses only what the step before gave it.
 * openssl makes the requests, and the administrator approves the one for a serving certificate.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { ApiClient } from '../support/drivers/api-client.ts'
import type { Credentials } from '../support/drivers/api-client.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const config = {
  'enable-bootstrap-token-auth': true,
  'authorization-mode': ['Node', 'RBAC'],
  'enable-admission-plugins': ['NodeRestriction'],
  controllers: ['*', 'bootstrapsigner', 'tokencleaner'],
}
const clientUsages = ['digital signature', 'key encipherment', 'client auth']
const servingUsages = ['digital signature', 'key encipherment', 'server auth']

type Request = {
  readonly metadata: { readonly name: string }
  readonly status: { readonly certificate?: string; readonly conditions?: readonly unknown[] }
}

for (const domain of someDomains) {
  void test(`${domain}: a node joins by a token, gets its certificates, renews one, and may register no other node`, async (t) => {
    const names = namesOf(domain)
    const cluster = await ProcessCluster.start({ members: 3, domain, config })
    t.after(() => cluster.remove())
    await cluster.waitReady()
    const [member] = cluster.members
    assert.ok(member)
    const admin = member.client
    const group = names.group('certificates')
    const requests = `/apis/${group}/v1/certificatesigningrequests`

    const bind = async (role: string, to: string): Promise<void> => {
      const rbac = names.group('rbac.authorization')
      const subjects = [{ kind: 'Group', apiGroup: rbac, name: to }]
      const roleRef = { kind: 'ClusterRole', apiGroup: rbac, name: role }
      const metadata = { name: `test:${role.split(':').at(-1) ?? ''}` }
      const body = { apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata, roleRef, subjects }
      const reply = await admin.post(`/apis/${rbac}/v1/clusterrolebindings`, body)
      assert.equal(reply.status, 201, reply.text)
    }
    await bind('system:node-bootstrapper', 'system:bootstrappers')
    await bind(`system:${group}:certificatesigningrequests:nodeclient`, 'system:bootstrappers')
    await bind(`system:${group}:certificatesigningrequests:selfnodeclient`, 'system:nodes')

    const made = await orchctl('token', 'create', '-o', 'json', '--kubeconfig', cluster.kubeconfig)
    assert.equal(made.code, 0, made.err)
    const { token } = JSON.parse(made.out) as { readonly token: string }
    const { ca } = cluster.credentials
    const clientWith = (credentials: Omit<Credentials, 'ca'>): ApiClient => {
      const client = new ApiClient(member.url, { ca, ...credentials })
      t.after(() => client.close())
      return client
    }

    /** Posts a request as `caller`. @returns its name, and the new key */
    const ask = async (
      caller: ApiClient,
      of: { readonly signer: string; readonly usages: readonly string[]; readonly more?: readonly string[] },
    ): Promise<{ readonly name: string; readonly key: string }> => {
      const [keyFile, csrFile] = ['node.key', 'node.csr'].map((file) => join(cluster.directory, file))
      assert.ok(keyFile !== undefined && csrFile !== undefined)
      const subject = ['-subj', '/O=system:nodes/CN=system:node:n1', ...(of.more ?? [])]
      const type = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
      execFileSync(
        'openssl',
        ['req', '-new', '-nodes', ...type, '-keyout', keyFile, '-out', csrFile, ...subject],
        {
          stdio: 'pipe',
        },
      )
      const request = readFileSync(csrFile).toString('base64')
      const spec = { signerName: of.signer, request, usages: of.usages }
      const head = { apiVersion: `${group}/v1`, kind: 'CertificateSigningRequest' }
      const reply = await caller.post(requests, { ...head, metadata: { generateName: 'csr-' }, spec })
      assert.equal(reply.status, 201, reply.text)
      const { metadata } = JSON.parse(reply.text) as Request
      return { name: metadata.name, key: readFileSync(keyFile, 'utf8') }
    }
    /** @returns the certificate in PEM, as `caller` reads it */
    const issued = async (caller: ApiClient, name: string): Promise<string> => {
      let certificate = ''
      await until(`${name} is issued`, async () => {
        const reply = await caller.get(`${requests}/${name}`)
        if (reply.status !== 200) return false
        certificate = (JSON.parse(reply.text) as Request).status.certificate ?? ''
        return certificate !== ''
      })
      return Buffer.from(certificate, 'base64').toString()
    }
    const nodeOf = (name: string): object => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } })

    const joining = clientWith({ token })
    assert.equal((await joining.post('/api/v1/nodes', nodeOf('n1'))).status, 403)
    const first = await ask(joining, { signer: names.signers.apiserverClientNodeAgent, usages: clientUsages })
    const node = clientWith({ cert: await issued(joining, first.name), key: first.key })
    let created = await node.post('/api/v1/nodes', nodeOf('n1'))
    await until('the certificate of the node is accepted', async () => {
      if (created.status === 401) created = await node.post('/api/v1/nodes', nodeOf('n1'))
      return created.status !== 401
    })
    assert.equal(created.status, 201, created.text)
    const other = await node.post('/api/v1/nodes', nodeOf('n2'))
    assert.equal(other.status, 403, other.text)
    const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } }
    const patched = await node.patch('/api/v1/nodes/n1/status', ready)
    assert.equal(patched.status, 200, patched.text)

    const more = ['-addext', 'subjectAltName=DNS:n1.example,IP:10.0.0.1']
    const serving = await ask(node, { signer: names.signers.nodeAgentServing, usages: servingUsages, more })
    const asked = JSON.parse((await admin.get(`${requests}/${serving.name}`)).text) as Request
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Checked', message: 'by the operator' }]
    const approved = await admin.put(`${requests}/${serving.name}/approval`, {
      ...asked,
      status: { conditions },
    })
    assert.equal(approved.status, 200, approved.text)
    const served = execFileSync('openssl', ['x509', '-noout', '-ext', 'subjectAltName,extendedKeyUsage'], {
      input: await issued(node, serving.name),
    }).toString()
    assert.match(served, /DNS:n1\.example, IP Address:10\.0\.0\.1/)
    assert.match(served, /TLS Web Server Authentication/)

    const second = await ask(node, { signer: names.signers.apiserverClientNodeAgent, usages: clientUsages })
    const renewed = clientWith({ cert: await issued(node, second.name), key: second.key })
    assert.equal((await renewed.get('/api/v1/nodes/n1')).status, 200)

    const secret = `/api/v1/namespaces/${names.systemNamespace}/secrets/bootstrap-token-${token.slice(0, 6)}`
    const expired = { stringData: { expiration: new Date(Date.now() - 1000).toISOString() } }
    assert.equal((await admin.patch(secret, expired)).status, 200)
    await until('the expired token is refused', async () => (await joining.get(requests)).status === 401)
    await until('its Secret is removed', async () => (await admin.get(secret)).status === 404)
    await until('an Event reports the removal', async () => {
      const events = await admin.get(`/api/v1/namespaces/${names.systemNamespace}/events`)
      return events.text.includes('BootstrapTokenExpired')
    })
    assert.equal((await renewed.get('/api/v1/nodes/n1')).status, 200)
  })
}
