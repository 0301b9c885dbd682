/*
 * Goal: a whole server calls the webhooks that are configured through its API, with the credentials
 * of its flags; operators see them, suspend them, and trace a request.
 * Method: a member in memory in this process, with clients over HTTPS and a real webhook.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import type { AccessReply } from '../support/fixtures/access-server.ts'
import { OutwardServer, kubeconfigFor } from '../support/fixtures/outward-server.ts'
import type { Answer, SeenCall } from '../support/fixtures/outward-server.ts'
import { allow, base64, deny, patch, reviewOf } from '../support/fixtures/webhook-answers.ts'
import { until } from '../support/tools/until.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

type Kit = {
  readonly server: AccessServer
  readonly hook: OutwardServer
  answer: (call: SeenCall) => Answer | Promise<Answer>
}

async function start(
  t: TestContext,
  flags: (hook: OutwardServer) => Readonly<Record<string, string>> = () => ({}),
): Promise<Kit> {
  const kit: { answer: Kit['answer'] } = { answer: (call) => allow(call) }
  const hook = await OutwardServer.start(t, (call) => kit.answer(call))
  const server = await AccessServer.start(t, flags(hook))
  return Object.assign(kit, { server, hook })
}

/** Stores a configuration with one webhook for ConfigMaps and waits until it is in force. */
async function configure(
  { server, hook }: Kit,
  type: 'mutating' | 'validating',
  more: JsonObject = {},
  domain = 'orch.io',
): Promise<void> {
  const kind = type === 'mutating' ? 'MutatingWebhookConfiguration' : 'ValidatingWebhookConfiguration'
  const webhook = {
    name: `${type}.example.com`,
    clientConfig: { url: hook.url.href, caBundle: base64(hook.authority.pem) },
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...more,
  }
  const path = `/apis/admissionregistration.${domain}/v1/${kind.toLowerCase()}s`
  const body = {
    apiVersion: `admissionregistration.${domain}/v1`,
    kind,
    metadata: { name: type },
    webhooks: [webhook],
  }
  const { status, text, headers } = await server.admin(path, { method: 'POST', body })
  assert.equal(status, 201, text)
  assert.equal(headers['warning'], undefined)
  await until('the configuration is in force', async () =>
    (await described(server)).some(({ configuration }) => configuration === type),
  )
}

async function described(server: AccessServer): Promise<readonly JsonObject[]> {
  const { text } = await server.admin('/cluster/v1/webhooks')
  return objectsMember(JSON.parse(text) as JsonObject, 'webhooks')
}

function create(
  server: AccessServer,
  name: string,
  headers: Record<string, string> = {},
): Promise<AccessReply> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
  return server.admin(CONFIG_MAPS, { method: 'POST', body, headers })
}

void test('spec 4.6.3, 5.8: webhooks of the domain k8s.io mutate and deny, with the credentials of --admission-control-config-file', async (t) => {
  const file = filesOf(t)
  const kit = await start(t, (hook) => {
    const credentials = file(
      'hooks.kubeconfig',
      kubeconfigFor(hook.config({ authorization: 'Bearer sesame' })),
    )
    const configuration = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'WebhookAdmissionConfiguration',
      kubeConfigFile: credentials,
    }
    const admission = file(
      'admission.json',
      JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AdmissionConfiguration',
        plugins: [{ name: 'MutatingAdmissionWebhook', configuration }],
      }),
    )
    return { 'api-domain': 'k8s.io', 'admission-control-config-file': admission }
  })
  await configure(kit, 'mutating', {}, 'k8s.io')
  await configure(kit, 'validating', {}, 'k8s.io')
  const { server, hook } = kit
  const isMutating = (call: SeenCall): boolean => call.headers.authorization === 'Bearer sesame'
  kit.answer = (call) =>
    isMutating(call)
      ? patch(call, [{ op: 'add', path: '/data', value: { by: 'webhook' } }])
      : allow(call, { warnings: ['be careful'] })
  const made = await create(server, 'a')
  assert.deepEqual([made.status, made.headers['warning']], [201, '299 - "be careful"'])
  assert.deepEqual(objectMember(JSON.parse(made.text) as JsonObject, 'data'), { by: 'webhook' })
  assert.deepEqual(
    hook.calls.map((call) => [isMutating(call), call.client, textMember(reviewOf(call), 'operation')]),
    [
      [true, 'orch', 'CREATE'],
      [false, '', 'CREATE'],
    ],
  )
  kit.answer = (call) => deny(call, { code: 418, message: 'no' })
  const denied = await create(server, 'b')
  assert.equal(denied.status, 418)
  assert.match(denied.text, /admission webhook \\"mutating\.example\.com\\" denied the request: no/)
  const { text } = await server.admin('/metrics')
  assert.match(
    text,
    /apiserver_admission_webhook_rejection_count\{name="mutating\.example\.com",.*rejection_code="418"\} 1/,
  )
  assert.match(
    text,
    /apiserver_admission_controller_admission_duration_seconds_count\{name="NamespaceLifecycle"/,
  )
  assert.match(
    text,
    /apiserver_admission_step_admission_duration_seconds_count\{operation="CREATE",type="admit"/,
  )
  assert.match(text, /orch_admission_webhook_state\{type="mutating",.*state="closed"\} 1/)
})

void test('spec 6.2: annotations of mutations are recorded from the level Metadata on, and those of patches from Request on', async (t) => {
  const file = filesOf(t)
  const rules = [
    { level: 'None', namespaces: ['none'] },
    { level: 'Metadata', namespaces: ['default'], resources: [{ resources: ['configmaps'] }] },
    { level: 'Request', namespaces: ['public-ns'], resources: [{ resources: ['configmaps'] }] },
    { level: 'None' },
  ]
  const head = { apiVersion: 'audit.orch.io/v1', kind: 'Policy', omitStages: ['RequestReceived'] }
  const path = file('audit.log', '')
  const kit = await start(t, () => ({
    'audit-policy-file': file('policy.json', JSON.stringify({ ...head, rules })),
    'audit-log-path': path,
  }))
  await configure(kit, 'mutating')
  kit.answer = (call) => patch(call, [{ op: 'add', path: '/data', value: { by: 'webhook' } }])
  for (const namespace of ['default', 'public-ns']) {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    const reply = await kit.server.admin(`/api/v1/namespaces/${namespace}/configmaps`, {
      ...{ method: 'POST', body },
    })
    assert.equal(reply.status, 201, reply.text)
  }
  const lines = (): readonly string[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  await until('both events are written', () => lines().length >= 2)
  const of = { configuration: 'mutating', webhook: 'mutating.example.com' }
  const written = lines().map((line) => objectMember(JSON.parse(line) as JsonObject, 'annotations'))
  const [mutation, patched] = ['mutation', 'patch'].map(
    (kind) => `${kind}.webhook.admission.orch.io/round_0_index_0`,
  ) as [string, string]
  assert.deepEqual(
    written.map((one) => one[mutation]),
    Array(2).fill(JSON.stringify({ ...of, mutated: true })),
  )
  const operations = [{ op: 'add', path: '/data', value: { by: 'webhook' } }]
  assert.deepEqual(
    written.map((one) => one[patched]),
    [undefined, JSON.stringify({ ...of, patch: operations, patchType: 'JSONPatch' })],
  )
})

void test('a webhook configuration can be suspended and resumed through /cluster/v1/webhooks, which is logged', async (t) => {
  const kit = await start(t)
  const { server } = kit
  await configure(kit, 'validating')
  kit.answer = (call) => deny(call)
  assert.equal((await create(server, 'a')).status, 403)
  const change = (body: object): Promise<AccessReply> =>
    server.admin('/cluster/v1/webhooks', { method: 'POST', body })
  const suspended = await change({ change: 'suspend', configuration: 'validating', for: '10m' })
  assert.equal(suspended.status, 200, suspended.text)
  await until('it is suspended', async () => (await described(server))[0]?.['suspendedUntil'] !== null)
  const { status, headers } = await create(server, 'a')
  assert.equal(status, 201)
  assert.match(
    String(headers['warning']),
    /ValidatingWebhookConfiguration \\"validating\\" are suspended until/,
  )
  assert.ok(
    server.lines.some((line) => line.includes('webhooks suspended or resumed') && line.includes('"root"')),
  )
  assert.equal((await change({ change: 'resume', configuration: 'validating' })).status, 200)
  await until('it is resumed', async () => (await described(server))[0]?.['suspendedUntil'] === null)
  assert.equal((await create(server, 'b')).status, 403)
  for (const [body, code] of [
    [{ change: 'suspend', configuration: 'other', for: '10m' }, 404],
    [{ change: 'suspend', configuration: 'validating' }, 400],
    [{ change: 'suspend', configuration: 'validating', for: '25h' }, 400],
    [{ change: 'stop', configuration: 'validating' }, 400],
    [{ change: 'resume' }, 400],
    [{ change: 'resume', configuration: 'validating', type: 'other' }, 400],
  ] as const) {
    assert.equal((await change(body)).status, code, JSON.stringify(body))
  }
  const user = server.client('nobody')
  assert.equal((await server.ask('/cluster/v1/webhooks', { identity: user })).status, 403)
})

void test('a webhook that keeps failing is reported by an Event on its configuration, and again when it recovers', async (t) => {
  const kit = await start(t)
  const { server } = kit
  await configure(kit, 'validating')
  kit.answer = () => ({ status: 500, body: '' })
  for (let count = 0; count < 6; count++) {
    const user = { 'impersonate-user': `user-${count}`, 'impersonate-group': 'system:masters' }
    assert.equal((await create(server, `a${count}`, user)).status, 500)
  }
  assert.match((await create(server, 'a')).text, /circuit breaker is open/)
  const events = async (): Promise<readonly string[]> => {
    const { text } = await server.admin('/api/v1/namespaces/default/events')
    return objectsMember(JSON.parse(text) as JsonObject, 'items').map((event) => {
      const about = objectMember(event, 'involvedObject')
      const words = [textMember(event, 'type'), textMember(event, 'reason')]
      return [...words, textMember(about, 'kind'), textMember(about, 'name')].join(' ')
    })
  }
  const failing = 'Warning WebhookFailing ValidatingWebhookConfiguration validating'
  await until('the event is stored', async () => (await events()).includes(failing))
  kit.answer = (call) => allow(call)
  await until('the webhook is called again', async () => (await create(server, 'again')).status !== 500)
  const recovered = 'Normal WebhookRecovered ValidatingWebhookConfiguration validating'
  await until('the recovery is stored', async () => (await events()).includes(recovered))
})

void test('a request with the header Orch-Trace is answered with the times of its admission, for administrators only', async (t) => {
  const kit = await start(t)
  const { server } = kit
  await configure(kit, 'validating')
  const headers = { 'orch-trace': '1' }
  const traced = await create(server, 'a', headers)
  const timing = String(traced.headers['server-timing'])
  assert.match(timing, /^total;dur=\d+\.\d+, /)
  assert.match(timing, /plugin-mutating-NamespaceLifecycle;dur=/)
  assert.match(timing, /webhook-validating-validating\.example\.com;dur=/)
  assert.equal((await create(server, 'b')).headers['server-timing'], undefined)
  kit.answer = (call) => deny(call)
  assert.match(String((await create(server, 'c', headers)).headers['server-timing']), /webhook-validating/)
  const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }
  const rbac = '/apis/rbac.authorization.orch.io/v1'
  const group = 'rbac.authorization.orch.io'
  const role = { metadata: { name: 'reader' }, rules: [rule] }
  assert.equal((await server.admin(`${rbac}/clusterroles`, { method: 'POST', body: role })).status, 201)
  const binding = {
    metadata: { name: 'reader' },
    subjects: [{ kind: 'User', name: 'kate', apiGroup: group }],
    roleRef: { kind: 'ClusterRole', name: 'reader', apiGroup: group },
  }
  assert.equal(
    (await server.admin(`${rbac}/clusterrolebindings`, { method: 'POST', body: binding })).status,
    201,
  )
  const read = { identity: server.client('kate'), headers }
  await until('kate may read', async () => (await server.ask(`${CONFIG_MAPS}/a`, read)).status === 200)
  const other = await server.ask(`${CONFIG_MAPS}/a`, read)
  assert.equal(other.headers['server-timing'], undefined)
  assert.match(
    String(other.headers['warning']),
    /orch-trace is ignored: it needs the permission to get \/debug\/trace/,
  )
})
