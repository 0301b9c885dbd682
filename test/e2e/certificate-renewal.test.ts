/*
 * Goal: a cluster renews its certificates without a restart while clients are connected.
 * Method: real processes whose clock the hook of `orchctl chaos` moves a year ahead in steps; a
 * watch stays open, and after each step the test writes through every member with the kubeconfig.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readCertificate } from '../../src/pki/certificate.ts'
import { clusterPkiPaths } from '../../src/pki/cluster-pki.ts'
import { readClientConfig } from '../../src/pki/client-config.ts'
import { ApiClient } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const dayMs = 24 * 60 * 60 * 1000

void test('a cluster whose clock is moved a year ahead in steps renews its certificates and keeps serving', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-skew-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'chaos.json')
  const hook = new URL('../../tools/chaos/hook.js', import.meta.url)
  hook.searchParams.set('file', file)
  const cluster = await ProcessCluster.start({ members: 3, preload: hook.href })
  t.after(() => cluster.remove())
  const pids = cluster.members.map(({ pid }) => pid)
  const paths = clusterPkiPaths(join(cluster.directory, 'pki'))
  const leaves = [
    paths.admin,
    ...cluster.members.flatMap(({ name }) => [paths.server(name), paths.peer(name)]),
  ]
  const expiries = (): readonly number[] =>
    leaves.map(({ certificate }) => readCertificate(readFileSync(certificate, 'utf8')).notAfterMs)
  const first = expiries()
  const { ca } = cluster.credentials
  const watcher = new ApiClient(cluster.member('n2').url, { ca, token: 'test-admin-token' })
  t.after(() => watcher.close())
  const seen: string[] = []
  const path = '/api/v1/namespaces/default/configmaps'
  const watch = watcher.watch(
    `${path}?watch=1&timeoutSeconds=3600`,
    (line) => void seen.push(JSON.stringify(line)),
  )
  t.after(() => watch.close())

  for (const days of [90, 180, 270, 365]) {
    const clock = { skewMs: days * dayMs, untilMs: Date.now() + dayMs }
    writeFileSync(`${file}.new`, JSON.stringify({ disk: null, clock }))
    renameSync(`${file}.new`, file)
    if (days === 270) {
      await until('every certificate is renewed', () => expiries().every((at, of) => at > (first[of] ?? 0)))
      const { certificate } = paths.admin
      await until(
        'the kubeconfig has the new one',
        () =>
          readClientConfig(cluster.kubeconfig).identity?.certificate === readFileSync(certificate, 'utf8'),
      )
    }
    const { identity } = readClientConfig(cluster.kubeconfig)
    for (const { name, url } of cluster.members) {
      const client = new ApiClient(url, { ca, cert: identity?.certificate ?? '', key: identity?.key ?? '' })
      const object = { metadata: { name: `at-${days}-${name}` } }
      await until(`${name} writes after ${days} days`, async () =>
        [201, 409].includes((await client.post(path, object)).status),
      )
      client.close()
      await until('the watch shows it', () => seen.some((line) => line.includes(object.metadata.name)))
    }
  }
  assert.deepEqual(
    cluster.members.map(({ pid }) => pid),
    pids,
    'no member restarted',
  )
  const { status } = await cluster.member('n1').client.get('/api/v1/namespaces')
  assert.equal(status, 401, 'the certificate that has expired is refused')
})
