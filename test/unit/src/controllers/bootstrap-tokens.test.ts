/*
 * Goal: cluster-info has the signature of each token that may sign it, and no other; expired
 * tokens are removed.
 * Method: the shipped controllers of one member that leads; the signatures are verified as the
 * specification describes it.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SeededRandom } from '../../../../base/random.ts'
import { objectMember, textMember } from '../../../../src/api/json.ts'
import { createAuthority } from '../../../../src/pki/authority.ts'
import { until } from '../../../support/tools/until.ts'
import { lead, rest } from '../app/leading-member.ts'
import { refused } from '../registry/fixture.ts'
import type { Fixture } from '../registry/fixture.ts'
import { clusterKubeconfig, storeClusterInfo, storeToken, tokenSecret } from './token-bodies.ts'

const enabled = ['bootstrapsigner', 'tokencleaner'] as const

async function dataOf(api: Fixture): Promise<Readonly<Record<string, unknown>>> {
  const namespace = api.names.publicNamespace
  const { object } = await api.get({ kind: 'ConfigMap', namespace, name: 'cluster-info' })
  return objectMember(object, 'data')
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** @param key the whole token; for existing clients its secret half */
function verifies(detached: unknown, payload: string, id: string, key: string): boolean {
  const [header = '', middle, signature = ''] = String(detached).split('.')
  const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as Record<string, string>
  const hmac = createHmac('sha256', key).update(`${header}.${base64url(payload)}`)
  return middle === '' && alg === 'HS256' && kid === id && hmac.digest('base64url') === signature
}

/**
 * Lets the controllers work until cluster-info has this data. Signatures are computed by threads of
 * the process, which a step of the injected clock does not wait for.
 */
async function untilSigned(
  api: Fixture,
  isSigned: (data: Readonly<Record<string, unknown>>) => boolean,
): Promise<Readonly<Record<string, unknown>>> {
  let data = await dataOf(api)
  await until('cluster-info is signed', async () => {
    await turn()
    api.clock.advance(50)
    data = await dataOf(api)
    return isSigned(data)
  })
  return data
}

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 2.4: ${domain}: cluster-info is signed by each token for signing, and follows its content`, async (t) => {
    const api = await lead(t, { domain, enabled })
    const keyOf = (id: string): string => (domain === 'k8s.io' ? tokenSecret : `${id}.${tokenSecret}`)
    await storeToken(api, 'aaaaaa', {})
    await storeToken(api, 'bbbbbb', { 'usage-bootstrap-signing': 'false' })
    await storeClusterInfo(api, { kubeconfig: clusterKubeconfig, other: 'x', 'jws-kubeconfig-zzzzzz': 'old' })
    const data = await untilSigned(api, (found) => 'jws-kubeconfig-aaaaaa' in found)
    assert.deepEqual(Object.keys(data).sort(), ['jws-kubeconfig-aaaaaa', 'kubeconfig', 'other'])
    assert.ok(verifies(data['jws-kubeconfig-aaaaaa'], clusterKubeconfig, 'aaaaaa', keyOf('aaaaaa')))
    const at = { kind: 'ConfigMap', namespace: api.names.publicNamespace, name: 'cluster-info' }
    await api.patch({ ...at, body: { data: { kubeconfig: 'changed', 'jws-kubeconfig-aaaaaa': 'forged' } } })
    await storeToken(api, 'cccccc', {})
    const changed = await untilSigned(api, (found) => 'jws-kubeconfig-cccccc' in found)
    for (const id of ['aaaaaa', 'cccccc']) {
      assert.ok(verifies(changed[`jws-kubeconfig-${id}`], 'changed', id, keyOf(id)), id)
    }
    const { object } = await api.get(at)
    await rest(api)
    assert.equal(
      textMember(objectMember((await api.get(at)).object, 'metadata'), 'resourceVersion'),
      textMember(objectMember(object, 'metadata'), 'resourceVersion'),
      'what is signed is not written again',
    )
  })
}

void test('spec 3.3: an expired token signs no longer, and is removed', async (t) => {
  const api = await lead(t, { domain: 'orch.io', enabled })
  const soon = new Date(api.clock.wallMs() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z')
  await storeToken(api, 'aaaaaa', { expiration: soon })
  await storeToken(api, 'bbbbbb', {})
  await storeClusterInfo(api)
  await untilSigned(api, (found) => Object.keys(found).length === 3)
  api.clock.advance(3_600_000)
  const left = await untilSigned(api, (found) => !('jws-kubeconfig-aaaaaa' in found))
  assert.deepEqual(Object.keys(left).sort(), ['jws-kubeconfig-bbbbbb', 'kubeconfig'])
  const at = { kind: 'Secret', namespace: api.names.systemNamespace }
  await rest(api)
  assert.equal((await refused(api.get({ ...at, name: 'bootstrap-token-aaaaaa' }))).code, 404)
  assert.equal((await api.get({ ...at, name: 'bootstrap-token-bbbbbb' })).code, 200)
})

/** Returns the certificate of a new authority. @param seed differs for each authority */
function authority(seed: number, commonName = 'ca'): string {
  const validity = { notBeforeMs: 0, notAfterMs: 86_400_000 }
  return createAuthority({ ...validity, commonName, random: new SeededRandom(seed) }).certificatePem
}

void test('the kubeconfig of cluster-info follows the authorities of the cluster, and is signed again', async (t) => {
  const [old, next, foreign] = [authority(1), authority(2), authority(3, 'of the load balancer')]
  let changed = (): void => undefined
  const rootCa = { pem: old, onChange: (listener: () => void) => void (changed = listener) }
  const api = await lead(t, { domain: 'orch.io', enabled, rootCa })
  const encoded = (pem: string): string => Buffer.from(pem).toString('base64')
  const kubeconfig = (pem: string): string =>
    JSON.stringify({
      clusters: [pem, foreign, pem + foreign].map((one) => ({ 'certificate-authority-data': encoded(one) })),
    })
  await storeToken(api, 'aaaaaa', {})
  await storeClusterInfo(api, { kubeconfig: kubeconfig(old) })
  await rest(api)
  assert.equal((await dataOf(api))['kubeconfig'], kubeconfig(old))
  // The authorities during a rotation, and after it.
  for (const pem of [old + next, next]) {
    rootCa.pem = pem
    changed()
    await rest(api)
    const data = await dataOf(api)
    assert.equal(data['kubeconfig'], kubeconfig(pem))
    assert.ok(verifies(data['jws-kubeconfig-aaaaaa'], kubeconfig(pem), 'aaaaaa', `aaaaaa.${tokenSecret}`))
  }
})

void test('a Secret under a false name, or of another type, signs nothing and is not removed', async (t) => {
  const api = await lead(t, { domain: 'k8s.io', enabled })
  const expired = { expiration: '2020-01-01T00:00:00Z' }
  await storeToken(api, 'aaaaaa', { 'token-id': 'bbbbbb' })
  await storeToken(api, 'cccccc', { 'token-id': 'dddddd', ...expired })
  await storeToken(api, 'eeeeee', {}, 'Opaque')
  await storeToken(api, 'ffffff', expired, 'Opaque')
  await storeClusterInfo(api)
  await rest(api)
  assert.deepEqual(Object.keys(await dataOf(api)), ['kubeconfig'])
  const namespace = api.names.systemNamespace
  for (const id of ['aaaaaa', 'cccccc', 'eeeeee', 'ffffff']) {
    assert.equal((await api.get({ kind: 'Secret', namespace, name: `bootstrap-token-${id}` })).code, 200, id)
  }
})
