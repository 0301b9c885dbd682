/*
 * Goal: a running member loads renewed keys from disk, for clients and for peers.
 * Method: real processes; the certificates of one member are renewed, and both its ports are
 * checked for the new ones; then another member restarts and connects to it. And a client CA is
 * replaced while clients have connections and watches open.
 */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { RealClock } from '../../src/host/clock.ts'
import { RealRandom } from '../../src/host/random.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../src/pki/cluster-pki.ts'
import { ApiClient } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { readSigningKey } from '../../src/auth/service-accounts/token-keys.ts'
import { tokenOf } from '../support/fixtures/token-kit.ts'
import { TestAuthority } from '../../fixtures/server-fixture.ts'
import { until } from '../support/tools/until.ts'

/** Returns the serial number of the certificate served at `address`, host:port. */
async function serialAt(
  address: string,
  keys: { readonly cert: string; readonly key: string },
): Promise<string> {
  const [host = '', port] = address.split(':')
  // Chains of trust are tested elsewhere.
  const socket = connect({
    host,
    port: Number(port),
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
    ...keys,
  })
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

/** Returns a token of the account `default` that the key of the client port has signed. */
async function tokenOfServerKey({ client }: MemberProcess, keyPath: string): Promise<string> {
  const path = '/api/v1/namespaces/default/serviceaccounts/default/token'
  const kind = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { status, text } = await client.post(path, kind)
  assert.equal(status, 201, text)
  const { token } = (JSON.parse(text) as { readonly status: { readonly token: string } }).status
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')
  return tokenOf(payload, readSigningKey(readFileSync(keyPath, 'utf8'), 'server.key'))
}

async function peerAddressOf({ client }: MemberProcess, name: string): Promise<string> {
  const { text } = await client.get(`/apis/cluster.k8s.io/v1/members/${name}`)
  return (JSON.parse(text) as { readonly spec: { readonly peerAddress: string } }).spec.peerAddress
}

void test('keys renewed on disk are used by new connections without a restart', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const directory = join(cluster.directory, 'pki')
  const paths = clusterPkiPaths(directory)
  const files = { server: paths.server('n2'), peer: paths.peer('n2') }
  const addresses = {
    server: cluster.member('n2').url.replace('https://', ''),
    peer: await peerAddressOf(cluster.member('n1'), 'n2'),
  }
  const admin = { cert: cluster.credentials.cert ?? '', key: cluster.credentials.key ?? '' }
  const peer = paths.peer('n1')
  const keys = {
    server: admin,
    peer: { cert: readFileSync(peer.certificate, 'utf8'), key: readFileSync(peer.key, 'utf8') },
  }
  const forged = await tokenOfServerKey(cluster.member('n2'), files.server.key)
  const callers = new ApiClient(cluster.member('n2').url, { ca: cluster.credentials.ca, token: forged })
  t.after(() => callers.close())
  const seen = async (): Promise<number> => (await callers.get('/api/v1/namespaces')).status
  assert.equal(await seen(), 403, 'the key of the client port verifies tokens')
  for (const which of ['server', 'peer'] as const) {
    for (const path of Object.values(files[which])) rmSync(path)
  }
  ensureClusterPki({
    directory,
    kubeconfigPath: cluster.kubeconfig,
    members: cluster.members.map(({ name, url }) => ({ name, hosts: ['127.0.0.1'], serverUrl: url })),
    clock: new RealClock(),
    random: new RealRandom(),
  })
  const { pid } = cluster.member('n2')
  for (const which of ['server', 'peer'] as const) {
    const { serialNumber } = new X509Certificate(readFileSync(files[which].certificate))
    await until(
      `the new certificate of ${which} is shown`,
      async () => (await serialAt(addresses[which], keys[which])) === serialNumber,
      () => cluster.member('n2').logTail(),
      200,
    )
  }
  assert.equal(cluster.member('n2').pid, pid)
  await until('tokens of the old key are refused', async () => (await seen()) === 401)
  assert.match(
    cluster.member('n2').currentLog(),
    /keys and certificates changed on disk: new connections use them/,
  )
  await cluster.member('n3').stop()
  cluster.member('n3').start()
  await cluster.waitReady()
  const made = await cluster.member('n3').client.post('/api/v1/namespaces', { metadata: { name: 'after' } })
  assert.equal(made.status, 201, made.text)
})

void test('replacing the client certificate authority at run time rejects certificates of the old one', async (t) => {
  const cluster = await ProcessCluster.start({ members: 1 })
  t.after(() => cluster.remove())
  const member = cluster.member('n1')
  const { ca } = clusterPkiPaths(join(cluster.directory, 'pki'))
  const old = readFileSync(ca.certificate, 'utf8')
  const next = new TestAuthority('next authority')
  const replace = (bundle: string): void => {
    writeFileSync(`${ca.certificate}.new`, bundle)
    renameSync(`${ca.certificate}.new`, ca.certificate)
  }
  const newcomer = new ApiClient(member.url, {
    ...cluster.credentials,
    ...next.client('next-admin', ['system:masters']),
  })
  t.after(() => newcomer.close())
  const path = '/api/v1/namespaces'
  const seen = async (client: ApiClient): Promise<number> => (await client.get(path)).status
  assert.deepEqual([await seen(member.client), await seen(newcomer)], [200, 401])

  replace(next.pem + old)
  await until('the next authority counts', async () => (await seen(newcomer)) === 200)
  assert.equal(await seen(member.client), 200, 'the old one still counts')
  const invited = () =>
    newcomer.post('/cluster/v1/join-tokens', {
      ...{ name: 'n2', peerAddress: '127.0.0.1:1', clientAddress: '127.0.0.1:2' },
    })
  const token = await invited()
  assert.equal(token.status, 201, token.text)
  const watches = [member.client, newcomer].map((client) => {
    const state = { stands: false, ended: false }
    const watch = client.watch(`${path}?watch=1`, () => (state.stands = true))
    t.after(() => watch.close())
    void watch.ended.then(() => (state.ended = true))
    return state
  })
  await until('both watches have begun', () => watches.every(({ stands }) => stands))

  replace(next.pem)
  // This client keeps its connections, so these requests use the same ones.
  await until('the old one is no longer accepted', async () => (await seen(member.client)) === 401)
  await until('its watch has ended', () => watches[0]?.ended === true)
  assert.deepEqual([await seen(newcomer), watches[1]?.ended], [200, false])
  // A join token names the authority by which the joining member verifies this one's certificate.
  assert.match((await invited()).text, /of another authority than --client-ca-file/)
  assert.match(member.currentLog(), /"clientAuthoritiesRemoved":\["orch cluster authority \(/)

  await member.stop()
  member.start()
  await until('it starts with the new authority', async () => {
    return (await newcomer.get('/readyz').catch(() => null))?.status === 200
  })
  assert.deepEqual([await seen(newcomer), await seen(member.client)], [200, 401])
})
