/*
 * Goal: a node that has only the line that `orchctl token create` prints finds the cluster, checks
 * that it is the right one, and authenticates, until the token is deleted.
 * Method: three real processes (`long/variants`: in each domain); a client without credentials
 * reads and verifies cluster-info as the specification describes it, and then uses the token.
 */
import assert from 'node:assert/strict'
import { createHash, createHmac, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { ApiClient } from '../support/drivers/api-client.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const config = {
  'enable-bootstrap-token-auth': true,
  controllers: ['*', 'bootstrapsigner', 'tokencleaner'],
}

type ClusterInfo = { readonly data: Readonly<Record<string, string>> }
type Kubeconfig = {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[]
}

for (const domain of someDomains) {
  void test(`spec 2.4: ${domain}: a token finds, checks and enters the cluster until it is deleted`, async (t) => {
    const cluster = await ProcessCluster.start({ members: 3, domain, config })
    t.after(() => cluster.remove())
    await cluster.waitReady()
    const isUpstream = domain === 'k8s.io'
    const [publicNamespace, systemNamespace] = isUpstream
      ? ['kube-public', 'kube-system']
      : ['public-ns', 'system-ns']
    const flags = ['--kubeconfig', cluster.kubeconfig]
    const made = await orchctl(
      'token',
      'create',
      '--ttl',
      '1h',
      '--description',
      'rack 7',
      '-o',
      'json',
      ...flags,
    )
    assert.equal(made.code, 0, made.err)
    const { token, join } = JSON.parse(made.out) as { readonly token: string; readonly join: string }
    const [id = '', secret = ''] = token.split('.')
    assert.match(token, /^[a-z0-9]{6}\.[a-z0-9]{16}$/)

    const [member] = cluster.members
    assert.ok(member)
    const { ca } = cluster.credentials
    const anonymous = new ApiClient(member.url, { ca })
    t.after(() => anonymous.close())
    const path = `/api/v1/namespaces/${publicNamespace}/configmaps/cluster-info`
    const key = `jws-kubeconfig-${id}`
    let data: ClusterInfo['data'] = {}
    await until('cluster-info is signed', async () => {
      const reply = await anonymous.get(path)
      if (reply.status === 200) data = (JSON.parse(reply.text) as ClusterInfo).data
      return data[key] !== undefined
    })
    const { kubeconfig = '', [key]: signature = '' } = data
    const [header = '', payload, hmac = ''] = signature.split('.')
    assert.equal(payload, '')
    const signed = `${header}.${Buffer.from(kubeconfig).toString('base64url')}`
    const shared = isUpstream ? secret : token
    assert.equal(createHmac('sha256', shared).update(signed).digest('base64url'), hmac)
    const [named] = (JSON.parse(kubeconfig) as Kubeconfig).clusters
    const authority = Buffer.from(named?.cluster['certificate-authority-data'] ?? '', 'base64')
    const spki = new X509Certificate(authority).publicKey.export({ type: 'spki', format: 'der' })
    assert.ok(join.includes(`sha256:${createHash('sha256').update(spki).digest('hex')}`), join)

    const node = new ApiClient(member.url, { ca, token })
    t.after(() => node.close())
    const secrets = `/api/v1/namespaces/${systemNamespace}/secrets`
    const asked = await node.get(secrets)
    assert.equal(asked.status, 403)
    assert.ok(asked.text.includes(`system:bootstrap:${id}`), asked.text)

    const listed = await orchctl('token', 'list', ...flags)
    assert.equal(listed.code, 0, listed.err)
    assert.match(listed.out, new RegExp(`^${id} .* authentication,signing .* rack 7$`, 'm'))
    assert.ok(!listed.out.includes(secret), 'the secret is not shown')

    assert.equal((await orchctl('token', 'delete', id, ...flags)).code, 0)
    await until('the token is refused', async () => (await node.get(secrets)).status === 401)
    await until('its signature is gone', async () => {
      const reply = await anonymous.get(path)
      return reply.status === 200 && !reply.text.includes(key)
    })
    const again = await orchctl('token', 'delete', id, ...flags)
    assert.deepEqual([again.code, again.err.includes('there is no token')], [1, true])
  })
}
