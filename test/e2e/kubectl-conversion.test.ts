/*
 * Goal: a definition with a conversion webhook is served in every version by every member; without
 * the webhook the stored version is still served and deletions still work; `orchctl storage
 * migrate` stores all objects in another version.
 * Method: a real kubectl and orchctl against three real processes, and a real HTTPS webhook in this
 * process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember, textMember, textsMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { conversionOf, converts, hostPortVersions } from '../support/fixtures/conversion-hook.ts'
import { OutwardServer } from '../support/fixtures/outward-server.ts'
import { base64 } from '../support/fixtures/webhook-answers.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()
const crd = 'customresourcedefinitions.apiextensions.k8s.io'
const name = 'crontabs.stable.example.com'
const v1 = 'crontabs.v1.stable.example.com'
const v2 = 'crontabs.v2.stable.example.com'

void test('a definition with a conversion webhook: create in v1, read and watch in v2, lose the webhook, migrate', async (t) => {
  let isDown = false
  const hook = await OutwardServer.start(t, (call) => (isDown ? { status: 503, body: '' } : converts(call)))
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  const run = (at: string, args: readonly string[], input?: JsonObject) =>
    kubectl.run(
      ...([cluster.kubeconfig, ['--context', at, ...args]] as const),
      input === undefined ? undefined : JSON.stringify(input),
    )
  const ok = (at: string, args: readonly string[], input?: JsonObject): Promise<string> =>
    kubectl.ok(
      ...([cluster.kubeconfig, ['--context', at, ...args]] as const),
      input === undefined ? undefined : JSON.stringify(input),
    )
  const read = async (at: string, args: readonly string[]): Promise<JsonObject> =>
    JSON.parse(await ok(at, ['get', ...args, '-o', 'json'])) as JsonObject
  const columns = (jsonPath: string): JsonObject => ({
    additionalPrinterColumns: [{ name: 'At', type: 'string', jsonPath }],
  })
  const versions = (storage: 'v1' | 'v2'): readonly JsonObject[] =>
    hostPortVersions(storage, { v1: columns('.spec.hostPort'), v2: columns('.spec.host') })
  const cronTab = (own: string, spec: JsonObject, version = 'v1'): JsonObject => ({
    ...{ apiVersion: `stable.example.com/${version}`, kind: 'CronTab' },
    ...{ metadata: { name: own, namespace: 'default' }, spec },
  })

  await ok('n1', ['create', '-f', '-'], {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name } },
    spec: {
      ...{ group: 'stable.example.com', scope: 'Namespaced', names: { plural: 'crontabs', kind: 'CronTab' } },
      versions: versions('v1'),
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { url: hook.url.href, caBundle: base64(hook.authority.pem) },
        },
      },
    },
  })
  await ok('n1', ['wait', '--for=condition=Established', `${crd}/${name}`, '--timeout=60s'])

  // Each step through another member.
  await ok('n2', ['create', '-f', '-'], cronTab('a', { hostPort: 'alpha:1' }))
  assert.deepEqual((await read('n3', [v2, 'a']))['spec'], { host: 'alpha', port: '1' })
  await ok('n1', ['create', '-f', '-'], cronTab('b', { host: 'beta', port: '2' }, 'v2'))
  assert.deepEqual((await read('n2', [v1, 'b']))['spec'], { hostPort: 'beta:2' })
  assert.match(await ok('n3', ['get', v2]), /^NAME +AT\na +alpha\nb +beta\n$/)
  assert.match(await ok('n1', ['get', v1]), /^NAME +AT\na +alpha:1\nb +beta:2\n$/)
  const sent = hook.calls.map((call) => objectsMember(conversionOf(call), 'objects').length)
  assert.ok(sent.every((count) => count >= 1 && count <= 2))

  const watch = kubectl.follow(cluster.kubeconfig, ['--context', 'n3', 'get', v2, '-w', '-o', 'name'])
  t.after(() => watch.child.kill())
  await until('the watch has the objects', () => watch.lines.length === 2, watch.reported)
  await ok('n1', ['patch', v2, 'a', '--type=merge', '-p', '{"spec":{"port":"3"}}'])
  await until('the watch has the change', () => watch.lines.length === 3, watch.reported)
  // The owner of the port wrote it in another version.
  const applied = await run('n2', ['apply', '--server-side', '-f', '-'], cronTab('a', { hostPort: 'z:9' }))
  assert.match(
    applied.stderr,
    /conflict with "kubectl-patch" using stable\.example\.com\/v2 at \S+: \.spec\.port/,
  )

  isDown = true
  await ok('n1', ['patch', v1, 'b', '--type=merge', '-p', '{"spec":{"hostPort":"beta:4"}}'])
  const failed = await run('n2', ['get', v2, 'b'])
  assert.match(
    failed.stderr,
    /InternalError\): conversion webhook for stable\.example\.com\/v1, Kind=CronTab failed: the server is currently unable/,
  )
  const refusedWrite = await run('n3', ['create', '-f', '-'], cronTab('c', { host: 'c', port: '1' }, 'v2'))
  assert.match(refusedWrite.stderr, /conversion webhook for stable\.example\.com\/v2, Kind=CronTab failed/)
  assert.match(await ok('n3', ['get', v1]), /^NAME +AT\na +alpha:3\nb +beta:4\n$/)
  await ok('n2', ['delete', v2, 'b', '--wait=false'])

  // The new storage version; the objects stay as they were stored.
  await ok('n1', [
    'patch',
    `${crd}/${name}`,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { versions: versions('v2') } }),
  ])
  const storedVersions = async (): Promise<readonly string[]> =>
    textsMember(objectMember(await read('n2', [`${crd}/${name}`]), 'status'), 'storedVersions')
  assert.deepEqual(await storedVersions(), ['v1', 'v2'])
  const migrate = (...more: readonly string[]) =>
    orchctl('storage', 'migrate', name, '--kubeconfig', cluster.kubeconfig, ...more)
  const blocked = await migrate()
  assert.equal(blocked.code, 1, blocked.out)
  assert.match(blocked.err, /crontabs\.stable\.example\.com cannot be listed: conversion webhook for/)
  assert.deepEqual(await storedVersions(), ['v1', 'v2'])

  isDown = false
  await until('the members call the webhook again', async () => (await run('n1', ['get', v2])).code === 0)
  const dry = await migrate('--dry-run', '-o', 'json')
  assert.deepEqual([dry.code, dry.err], [0, ''])
  const [row = {}] = objectsMember(JSON.parse(dry.out) as JsonObject, 'resources')
  assert.deepEqual([row['outcome'], row['objects'], row['written']], ['checked', 1, 0])
  assert.deepEqual(await storedVersions(), ['v1', 'v2'])
  const migrated = await migrate()
  assert.equal(migrated.code, 0, migrated.err)
  assert.match(
    migrated.out,
    /^crontabs\.stable\.example\.com +stable\.example\.com\/v2 +1 +1 +0 +v2 +migrated$/m,
  )
  assert.deepEqual(await storedVersions(), ['v2'])

  const all = await orchctl('storage', 'migrate', '--all', '--kubeconfig', cluster.kubeconfig)
  assert.equal(all.code, 0, all.err)
  assert.match(all.out, /^crontabs\.stable\.example\.com .* 1 +0 +0 +v2 +migrated$/m)
  assert.match(all.out, /^events .* migrated$/m)

  // The old version can be removed, and then the webhook is not needed.
  const only = JSON.stringify({ spec: { versions: versions('v2').slice(1) } })
  await ok('n1', ['patch', `${crd}/${name}`, '--type=merge', '-p', only])
  isDown = true
  const left = await read('n3', [v2, 'a'])
  assert.deepEqual(
    [textMember(left, 'apiVersion'), left['spec']],
    ['stable.example.com/v2', { host: 'alpha', port: '3' }],
  )
  await ok('n2', ['delete', `${crd}/${name}`, '--timeout=60s'])
})
