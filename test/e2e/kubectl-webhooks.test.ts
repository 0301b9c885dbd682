/*
 * Goal: the admission webhooks of policy engines and meshes work as packages configure them, and a
 * cluster whose webhooks are down is repaired with kubectl alone.
 * Method: a real kubectl against one real process in the domain k8s.io; configurations in the style
 * of these packages against an HTTPS server that responds as theirs do.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { parseJsonObject } from '../../src/api/codec/json.ts'
import { isJsonObject, objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { KubectlResult } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { certificates } from '../support/fixtures/definitions/certificates.ts'
import { definitionOf, objectOfSample } from '../support/fixtures/definitions/sample.ts'
import { OutwardServer } from '../support/fixtures/outward-server.ts'
import { policyWebhooks } from '../support/fixtures/policy-webhooks.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()

type Kit = {
  readonly hook: OutwardServer
  readonly ok: (args: readonly string[], input?: string) => Promise<string>
  readonly run: (args: readonly string[], input?: string) => Promise<KubectlResult>
}

async function start(t: TestContext): Promise<Kit> {
  const config = { 'data-dir': '', 'in-memory': true }
  const cluster = await ProcessCluster.start({ members: 1, domain: 'k8s.io', config })
  t.after(() => cluster.remove())
  const hook = await OutwardServer.start(t, (call) => policyWebhooks.answer(call))
  const { kubeconfig } = cluster
  const run: Kit['run'] = (args, input) => kubectl.run(kubeconfig, args, input)
  const ok: Kit['ok'] = (args, input) => kubectl.ok(kubeconfig, args, input)
  await ok(['apply', '-f', '-'], JSON.stringify(definitionOf(namesOf('k8s.io'), certificates)))
  await ok(['wait', '--for=condition=Established', 'crd/seals.certs.test.example', '--timeout=100s'])
  const at = { url: hook.url, authority: hook.authority.pem }
  const items = policyWebhooks.configurations(at)
  await ok(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  // A webhook is in force within a second after it was stored.
  await until('the webhooks are in force', async () => {
    const list = parseJsonObject(await ok(['get', '--raw', '/cluster/v1/webhooks']))
    const inForce = objectsMember(list, 'webhooks').map((one) => textMember(one, 'configuration'))
    return items.every((item) => inForce.includes(textMember(objectMember(item, 'metadata'), 'name')))
  })
  return { hook, ok, run }
}

async function shown({ ok }: Kit, ...what: readonly string[]): Promise<JsonObject> {
  return parseJsonObject(await ok(['get', ...what, '-o', 'json']))
}

async function containersOf(kit: Kit, namespace: string, pod: string): Promise<readonly string[]> {
  const spec = objectMember(await shown(kit, 'pod', pod, '-n', namespace), 'spec')
  return objectsMember(spec, 'containers').map((container) => textMember(container, 'name'))
}

void test('configurations as policy engines and meshes ship them work through kubectl', async (t) => {
  const kit = await start(t)
  const { ok, run, hook } = kit

  await t.test('validation of own kinds refuses with the reason of the webhook', async () => {
    const [valid] = certificates.valid
    assert.ok(isJsonObject(valid))
    const seal = (name: string, issuer: string): string =>
      JSON.stringify(objectOfSample(certificates, name, { ...valid, issuer: { name: issuer } }))
    const refused = await run(['create', '-f', '-'], seal('refused', 'unknown'))
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /admission webhook "webhook\.certs\.test\.example" denied the request: spec\.issuer\.name: Invalid value/,
    )
    await ok(['create', '-f', '-'], seal('accepted', 'ca'))
    assert.equal(await ok(['get', 'seals', '-o', 'name']), 'seal.certs.test.example/accepted\n')
  })

  await t.test('constraints refuse namespaces, and their ignore label is protected', async () => {
    const refused = await run(['create', 'namespace', 'team'])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /Forbidden.*\[ns-must-have-owner\] you must provide labels: \{"owner"\}/)
    const namespace = (name: string, labels: JsonObject): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
    await ok(['create', '-f', '-'], namespace('team', { owner: 'me' }))
    const ignored = { owner: 'me', 'admission.constraints.test.example/ignore': 'yes' }
    const exempt = await run(['create', '-f', '-'], namespace('exempt', ignored))
    assert.match(exempt.stderr, /Only exempt namespace can have the ignore label/)
  })

  await t.test('a mesh injects into a namespace, and a policy is called again after that', async () => {
    await ok(['label', 'namespace', 'team', 'mesh-injection=enabled'])
    await until('the namespace has its service account', async () => {
      const { code } = await run(['get', 'serviceaccount', 'default', '-n', 'team'])
      return code === 0
    })
    const { stderr } = await run(['run', 'web', '--image=registry.test/app', '-n', 'team'])
    assert.match(stderr, /Warning: policy "seen": containers were counted/)
    assert.deepEqual(await containersOf(kit, 'team', 'web'), ['web', 'mesh-proxy'])
    const metadata = objectMember(await shown(kit, 'pod', 'web', '-n', 'team'), 'metadata')
    assert.equal(
      objectMember(metadata, 'annotations')['policies.test.example/seen'],
      '2 containers',
      'the policy saw what the mesh added',
    )
    const label = '--labels=sidecar.mesh.test.example/inject=false'
    await ok(['run', 'plain', '--image=registry.test/app', '-n', 'team', label])
    assert.deepEqual(await containersOf(kit, 'team', 'plain'), ['plain'])
    await ok(['run', 'elsewhere', '--image=registry.test/app', '-n', 'default'])
    assert.deepEqual(await containersOf(kit, 'default', 'elsewhere'), ['elsewhere'])
  })

  await t.test('a dry run calls webhooks without side effects, and stores nothing', async () => {
    const before = hook.calls.length
    await ok(['run', 'dry', '--image=registry.test/app', '-n', 'team', '--dry-run=server'])
    assert.ok(hook.calls.length > before)
    for (const { body } of hook.calls.slice(before)) assert.match(body, /"dryRun":true/)
    assert.equal((await run(['get', 'pod', 'dry', '-n', 'team'])).code, 1)
  })

  await t.test('when the webhooks are down, Fail refuses, Ignore passes, and kubectl repairs', async () => {
    hook.stop()
    const refused = await run(['create', 'configmap', 'blocked'])
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /failed calling webhook "mutate\.policies\.test\.svc-fail".*connection refused/,
    )
    // Only `validation.constraints`, with Ignore, matches Secrets.
    await ok(['create', 'secret', 'generic', 'passes', '--from-literal=a=b'])
    await ok(['delete', 'pod', 'plain', '-n', 'team', '--grace-period=0', '--force'])
    await ok(['delete', 'mutatingwebhookconfiguration', 'policies-resource-mutating-webhook-cfg'])
    await until('the webhook is not called any more', async () => {
      const { code } = await run(['create', 'configmap', 'unblocked'])
      return code === 0
    })
    await ok(['delete', 'validatingwebhookconfigurations,mutatingwebhookconfigurations', '--all'])
    await ok(['delete', 'namespace', 'team', '--timeout=100s'])
  })
})
