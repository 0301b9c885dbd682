/*
 * Goal: a webhook that keeps failing, that calls itself, or that is suspended does not hold
 * requests up, and what happened can be seen.
 * Method: the verbs in memory with a recording HTTPS server; the time of the breaker is the test's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callChain, isLoop, traceHeaders } from '../../../../../src/admission/webhooks/call-chain.ts'
import { CircuitBreaker } from '../../../../../src/outward/circuit-breaker.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { describeWebhooks } from '../../../../../src/admission/webhooks/describe-webhooks.ts'
import { allow, deny, patch } from '../../../../support/fixtures/webhook-answers.ts'
import { until } from '../../../../support/tools/until.ts'
import { refused } from '../../registry/fixture.ts'
import type { Fixture } from '../../registry/fixture.ts'
import { WebhookKit } from './webhook-kit.ts'

void test('a circuit breaker opens after consecutive failures and lets one call at a time probe', () => {
  const breaker = new CircuitBreaker({ failuresMin: 3, openMsMin: 1000, openMsMax: 4000 })
  const fail = (nowMs: number): void => {
    assert.equal(breaker.waitMs(nowMs), 0)
    breaker.begin()
    breaker.failed(nowMs)
  }
  fail(0)
  fail(0)
  breaker.begin()
  breaker.succeeded()
  for (let count = 0; count < 3; count++) fail(10)
  assert.deepEqual([breaker.state, breaker.waitMs(10), breaker.waitMs(1009)], ['open', 1000, 1])
  breaker.begin()
  assert.deepEqual([breaker.state, breaker.waitMs(5000) > 0], ['half-open', true])
  // A probe that proved nothing is followed by another one.
  breaker.abandon()
  assert.equal(breaker.waitMs(1010), 0)
  for (const [atMs, waitMs] of [
    [1010, 2000],
    [3010, 4000],
    [7010, 4000],
  ] as const) {
    fail(atMs)
    assert.deepEqual([breaker.state, breaker.waitMs(atMs)], ['open', waitMs])
  }
  breaker.begin()
  breaker.succeeded()
  assert.deepEqual([breaker.state, breaker.waitMs(0)], ['closed', 0])
  for (let count = 0; count < 3; count++) fail(0)
  assert.equal(breaker.waitMs(0), 1000)
})

for (const failurePolicy of ['Fail', 'Ignore']) {
  void test(`a webhook that fails repeatedly is not called for a while, with the policy ${failurePolicy} too`, async (t) => {
    const kit = await WebhookKit.open(t)
    const { api } = kit
    await kit.configure('validating', 'down', [kit.webhook('down.example.com', { failurePolicy })])
    kit.answer = () => ({ status: 500, body: '' })
    const create = async (name: string): Promise<string> => {
      const made = createAs(kit, `user-${name}`, name)
      if (failurePolicy === 'Fail') return (await refused(made)).message
      await made
      return ''
    }
    for (let count = 0; count < 5; count++) await create(`a${count}`)
    const message = await create('open')
    assert.equal(kit.server.calls.length, 5)
    if (failurePolicy === 'Fail') {
      assert.match(message, /circuit breaker is open: 5 calls failed in a row; it is called again in 1s/)
    }
    api.clock.advance(1000)
    kit.answer = (call) => allow(call)
    await api.configMap('probe')
    await api.configMap('closed')
    assert.equal(kit.server.calls.length, 7)
    assert.deepEqual(
      kit.breakerChanges.map(({ state }) => state),
      ['open', 'closed'],
    )
  })
}

void test('responses that reject what was sent, or that are invalid, do not open the circuit breaker, also for many users', async (t) => {
  const kit = await WebhookKit.open(t)
  const failurePolicy = 'Ignore'
  await kit.configure('validating', 'strict', [kit.webhook('strict.example.com', { failurePolicy })])
  const answers = [
    { status: 413, body: '' },
    { status: 400, body: '' },
    { status: 200, body: '{}' },
  ]
  for (const [at, answer] of answers.entries()) {
    kit.answer = () => answer
    for (let count = 0; count < 10; count++) await createAs(kit, `user-${count}`, `a${at}-${count}`)
  }
  kit.answer = (call) => deny(call)
  assert.match((await refused(kit.api.configMap('b'))).message, /denied the request/)
  assert.deepEqual(kit.breakerChanges, [])
})

void test('a webhook that hangs or crashes on what one user sends still decides about the requests of others', async (t) => {
  const kit = await WebhookKit.open(t)
  const failurePolicy = 'Ignore'
  await kit.configure('validating', 'strict', [kit.webhook('strict.example.com', { failurePolicy })])
  kit.answer = () => ({ status: 500, body: '' })
  for (let count = 0; count < 20; count++) {
    await createAs(kit, 'jane', `a${count}`)
    // One user may have many accounts in a namespace.
    await createAs(kit, `system:serviceaccount:team:a${count}`, `b${count}`)
  }
  kit.answer = (call) => deny(call)
  assert.match((await refused(createAs(kit, 'joe', 'c'))).message, /denied the request/)
  assert.deepEqual(kit.breakerChanges, [])
})

void test('the user whose calls failed cannot keep an open circuit breaker open', async (t) => {
  const kit = await WebhookKit.open(t)
  const failurePolicy = 'Ignore'
  await kit.configure('validating', 'strict', [kit.webhook('strict.example.com', { failurePolicy })])
  kit.answer = () => ({ status: 500, body: '' })
  for (let count = 0; count < 5; count++) await createAs(kit, `user-${count}`, `a${count}`)
  kit.api.clock.advance(1000)
  await createAs(kit, 'user-0', 'b')
  kit.answer = (call) => deny(call)
  // The failed probe proved nothing: the next request probes at once.
  assert.match((await refused(createAs(kit, 'user-1', 'c'))).message, /denied the request/)
  assert.deepEqual(
    kit.breakerChanges.map(({ state }) => state),
    ['open', 'closed'],
  )
})

function createAs(kit: WebhookKit, name: string, object: string): ReturnType<Fixture['create']> {
  const user = { name, uid: '', groups: ['system:masters'], extra: {} }
  return kit.api.create({ kind: 'ConfigMap', body: { metadata: { name: object } }, user })
}

void test('denials do not open the circuit breaker', async (t) => {
  const kit = await WebhookKit.open(t, { answer: (call) => deny(call) })
  await kit.configure('validating', 'strict', [kit.webhook('strict.example.com')])
  for (let count = 0; count < 10; count++) await refused(kit.api.configMap('a'))
  assert.equal(kit.server.calls.length, 10)
  assert.deepEqual(kit.breakerChanges, [])
})

void test('the trace context of a call names its webhook until the call has timed out', () => {
  const webhook = { id: 'mutating/c/w' }
  const traceId = '0123456789abcdef0123456789abcdef'
  const key = Buffer.from('of this member')
  const call = { chain: [], endsWallMs: 5000, traceId, key }
  const first = traceHeaders({ traceparent: '', tracestate: 'other=1' }, webhook, call)
  assert.equal(first.traceparent, '00-0123456789abcdef0123456789abcdef-0123456789abcdef-00')
  assert.match(first.tracestate, /^orch=[0-9a-f]{12}\.3uw\.[0-9a-f]{16},other=1$/)
  const chain = callChain(first.tracestate, 4999)
  assert.ok(isLoop(chain, webhook, key))
  assert.ok(!isLoop(chain, { id: 'mutating/c/other' }, key))
  assert.ok(!isLoop(chain, webhook, Buffer.from('of another member')))
  // Work that was queued for later is no loop.
  assert.ok(!isLoop(callChain(first.tracestate, 5000), webhook, key))
  const traceparent = '00-11111111111111111111111111111111-2222222222222222-01'
  const second = traceHeaders({ ...first, traceparent }, { id: 'b' }, { ...call, chain })
  assert.equal(second.traceparent, traceparent)
  const both = callChain(second.tracestate, 0)
  assert.ok(isLoop(both, webhook, key) && isLoop(both, { id: 'b' }, key))
  for (const wrong of ['', 'orch', 'orch=', 'orch=zz-11', `orch=${'a'.repeat(5000)}`, ',,=']) {
    assert.deepEqual(callChain(wrong, 0), [], wrong)
  }
})

void test('a webhook whose own backend writes what it matches is not called for that, and the request ends', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'self', [kit.webhook('self.example.com')])
  const nested: string[] = []
  kit.answer = async (call) => {
    const { traceparent = '', tracestate = '' } = call.headers
    const request = api.request({ body: { metadata: { name: `n${nested.length}` } } })
    const trace = { traceparent: String(traceparent), tracestate: String(tracestate) }
    const seen = await refused(api.registry.create({ ...request, context: { ...request.context, trace } }))
    nested.push(seen.message)
    return deny(call, { message: 'its own write failed' })
  }
  const { message } = await refused(api.configMap('a'))
  assert.equal(message, 'admission webhook "self.example.com" denied the request: its own write failed')
  assert.equal(nested.length, 1)
  assert.match(nested[0] ?? '', /failed calling webhook "self\.example\.com": loop detected/)
  assert.deepEqual(kit.breakerChanges, [])
})

void test('a suspended configuration is not called until the time in its annotation, and requests get a warning', async (t) => {
  const kit = await WebhookKit.open(t, { answer: (call) => deny(call) })
  const { api } = kit
  const key = 'admissionregistration.orch.io/suspended-until'
  await kit.configure('validating', 'held', [kit.webhook('held.example.com')])
  await refused(api.configMap('a'))
  const kind = 'ValidatingWebhookConfiguration'
  const suspend = async (untilTime: string | null): Promise<void> => {
    await api.patch({ kind, name: 'held', body: { metadata: { annotations: { [key]: untilTime } } } })
    const wanted = untilTime === null ? null : Date.parse(untilTime)
    await until('the change is in force', () => kit.source.all()[0]?.suspendedUntilMs === wanted)
  }
  await suspend('2999-01-01T00:00:00Z')
  kit.clear()
  await api.configMap('b')
  assert.equal(kit.server.calls.length, 0)
  assert.deepEqual(api.warnings, [
    'webhooks of ValidatingWebhookConfiguration "held" are suspended until 2999-01-01T00:00:00Z',
  ])
  // A suspension ends by itself at its time.
  await suspend('2020-01-01T00:00:00Z')
  await refused(api.configMap('c'))
  await suspend(null)
  await refused(api.configMap('c'))
})

void test('a description of the webhooks shows the rules, the calls and the last failure of each', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'c', [
    kit.webhook('ok.example.com', { objectSelector: { matchLabels: { a: 'b' } } }),
  ])
  await kit.configure('validating', 'd', [kit.webhook('down.example.com')])
  await kit.api.configMap('a')
  kit.answer = () => ({ status: 500, body: '' })
  await refused(kit.api.configMap('b'))
  const described = describeWebhooks(kit.source.all(), kit.statistics, { nowMs: 0, wallMs: 0 })
  const [ok, down] = described
  assert.deepEqual(
    [ok?.name, ok?.isSelective, ok?.allowed, ok?.rules],
    ['ok.example.com', true, 0, ['* configmaps']],
  )
  assert.deepEqual([down?.allowed, down?.failed, down?.state], [1, 1, 'closed'])
  assert.match(down?.lastFailure?.why ?? '', /status 500/)
})

void test('spec 6.2: rejections are counted by name, operation, type, error_type and rejection_code', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'v', [kit.webhook('v.example.com')])
  for (const code of [0, 422, 601, 999]) {
    kit.answer = (call) => deny(call, { code })
    await refused(api.configMap('a'))
  }
  kit.answer = () => ({ status: 500, body: '' })
  await refused(api.configMap('a'))
  await api.delete({ kind: 'ValidatingWebhookConfiguration', name: 'v' })
  await kit.configure('mutating', 'm', [kit.webhook('m.example.com', { failurePolicy: 'Ignore' })])
  await api.configMap('a')
  const text = await kit.metrics.metrics()
  const series = (name: string): readonly string[] =>
    text.split('\n').filter((line) => line.startsWith(`${name}{`))
  const count = (more: string): string =>
    `apiserver_admission_webhook_rejection_count{name="v.example.com",operation="CREATE",type="validating",${more}}`
  assert.deepEqual(series('apiserver_admission_webhook_rejection_count'), [
    `${count('error_type="no_error",rejection_code="403"')} 1`,
    `${count('error_type="no_error",rejection_code="422"')} 1`,
    `${count('error_type="no_error",rejection_code="600"')} 2`,
    `${count('error_type="calling_webhook_error",rejection_code="500"')} 1`,
  ])
  assert.deepEqual(series('apiserver_admission_webhook_fail_open_count'), [
    'apiserver_admission_webhook_fail_open_count{name="m.example.com",type="admit"} 1',
  ])
  const requests = series('apiserver_admission_webhook_request_total')
  const ignored = 'name="m.example.com",operation="CREATE",type="admit",code="500",rejected="false"'
  assert.ok(requests.includes(`apiserver_admission_webhook_request_total{${ignored}} 1`), requests.join('\n'))
  assert.ok(series('apiserver_admission_webhook_admission_duration_seconds_count').length > 0)
})

void test('spec 6.2: rejections count each operation, mutating webhooks as admit, and what this server cannot use as its own error', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await api.configMap('a')
  await kit.configure('mutating', 'm', [kit.webhook('m.example.com')])
  kit.answer = (call) => deny(call)
  await refused(api.configMap('b'))
  await refused(api.patch({ name: 'a', body: { data: { k: 'v' } } }))
  await refused(api.delete({ name: 'a' }))
  kit.answer = (call) => patch(call, [{ op: 'remove', path: '/none' }])
  await refused(api.configMap('b'))
  const text = await kit.metrics.metrics()
  const name = 'apiserver_admission_webhook_rejection_count'
  const counted = text.split('\n').filter((line) => line.startsWith(`${name}{`))
  const of = (operation: string, more: string): string =>
    `${name}{name="m.example.com",operation="${operation}",type="admit",${more}} 1`
  const denied = 'error_type="no_error",rejection_code="403"'
  assert.deepEqual(counted, [
    of('CREATE', denied),
    of('UPDATE', denied),
    of('DELETE', denied),
    of('CREATE', 'error_type="apiserver_internal_error",rejection_code="0"'),
  ])
})

void test('spec 6.2: audit annotations count the rounds, and the webhooks of a round', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  const again = { reinvocationPolicy: 'IfNeeded' }
  await kit.configure('mutating', 'm', [kit.webhook('a.example.com', again), kit.webhook('b.example.com')])
  kit.answer = (call) =>
    kit.server.calls.length === 1
      ? allow(call)
      : patch(call, [{ op: 'add', path: '/data', value: { calls: String(kit.server.calls.length) } }])
  const annotations = new Map<string, string>()
  const request = api.request({ body: { metadata: { name: 'a' } } })
  const annotate = (key: string, value: string): void => void annotations.set(key, value)
  await api.registry.create({ ...request, context: { ...request.context, annotate } })
  const of = (kind: string, round: number, index: number): string =>
    `${kind}.webhook.admission.orch.io/round_${round}_index_${index}`
  assert.deepEqual(
    [...annotations.keys()],
    [of('mutation', 0, 0), of('mutation', 0, 1), of('patch', 0, 1), of('mutation', 1, 0), of('patch', 1, 0)],
  )
  const { webhook, mutated } = JSON.parse(annotations.get(of('mutation', 1, 0)) ?? '') as JsonObject
  assert.deepEqual([webhook, mutated], ['a.example.com', true])
})

void test('an audit annotation states that a webhook returned more annotations than are recorded', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'v', [kit.webhook('v.example.com')])
  for (const [count, dropped] of [
    [32, undefined],
    [33, 'true'],
  ] as const) {
    const given = Array.from({ length: count }, (_, at) => [`k${at}`, 'v'])
    kit.answer = (call) => allow(call, { auditAnnotations: Object.fromEntries(given) as JsonObject })
    const annotations = new Map<string, string>()
    const request = kit.api.request({ body: { metadata: { name: `a${count}` } } })
    const annotate = (key: string, value: string): void => void annotations.set(key, value)
    await kit.api.registry.create({ ...request, context: { ...request.context, annotate } })
    assert.equal(annotations.get('audit.orch.io/annotations-dropped'), dropped)
    assert.equal([...annotations.keys()].filter((key) => key.startsWith('v.example.com/')).length, 32)
  }
})

void test('spec 6.2: audit annotations record the mutation and the patch of each mutating webhook', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('mutating', 'm', [
    kit.webhook('first.example.com'),
    kit.webhook('second.example.com', { failurePolicy: 'Ignore' }),
  ])
  const operations = [{ op: 'add', path: '/data', value: { k: 'v' } }]
  const encoded = Buffer.from(JSON.stringify(operations)).toString('base64')
  kit.answer = (call) =>
    kit.server.calls.length === 1
      ? allow(call, { patchType: 'JSONPatch', patch: encoded, auditAnnotations: { why: 'because' } })
      : { status: 500, body: '' }
  const annotations: (readonly [key: string, value: string, from: string])[] = []
  const request = api.request({ body: { metadata: { name: 'a' } } })
  const annotate = (key: string, value: string, from = 'Metadata'): void =>
    void annotations.push([key, value, from])
  await api.registry.create({ ...request, context: { ...request.context, annotate } })
  const of = (webhook: string) => ({ configuration: 'm', webhook })
  assert.deepEqual(annotations, [
    ['first.example.com/why', 'because', 'Metadata'],
    [
      'mutation.webhook.admission.orch.io/round_0_index_0',
      JSON.stringify({ ...of('first.example.com'), mutated: true }),
      'Metadata',
    ],
    [
      'patch.webhook.admission.orch.io/round_0_index_0',
      JSON.stringify({ ...of('first.example.com'), patch: operations, patchType: 'JSONPatch' }),
      'Request',
    ],
    [
      'mutation.webhook.admission.orch.io/round_0_index_1',
      JSON.stringify({ ...of('second.example.com'), mutated: false }),
      'Metadata',
    ],
    ['failed-open.mutating.webhook.admission.orch.io/round_0_index_1', 'second.example.com', 'Metadata'],
  ])
})

void test('a client cannot keep a webhook from deciding its request by a made-up trace context', async (t) => {
  const kit = await WebhookKit.open(t, { answer: (call) => deny(call) })
  const { api } = kit
  await kit.configure('validating', 'own', [kit.webhook('own.example.com', { failurePolicy: 'Ignore' })])
  const forged = traceHeaders(
    { traceparent: '', tracestate: '' },
    { id: 'validating/own/own.example.com' },
    {
      ...{ chain: [], endsWallMs: Date.now() + 30_000, traceId: '0'.repeat(32) },
      key: Buffer.from('of another member'),
    },
  )
  const [link = ''] = forged.tracestate.split('=').slice(1)
  const many = Array.from({ length: 40 }, () => link).join('-')
  for (const tracestate of [forged.tracestate, `orch=${many}`]) {
    const request = api.request({ body: { metadata: { name: 'a' } } })
    const context = { ...request.context, trace: { traceparent: '', tracestate } }
    const { message } = await refused(api.registry.create({ ...request, context }))
    assert.match(message, /admission webhook "own\.example\.com" denied the request/)
  }
  assert.equal(kit.server.calls.length, 2)
})
