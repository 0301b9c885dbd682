/*
 * Goal: audit events follow the policy in upstream's form: no body below its level, no credential
 * at any level. A request waits for the log only in the blocking modes.
 * Method: the shipped server, verbs and machine over a socket; a log in memory that the tests delay
 * and break.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../src/config/limits.ts'
import { memoryTrail } from '../support/fakes/memory-audit-log.ts'
import type { LoggedEvent } from '../support/fakes/memory-audit-log.ts'
import { FakeRegistry } from '../support/fakes/fake-registry.ts'
import { ADMIN, NOBODY, serverAround, serverLimits } from '../../fixtures/server-fixture.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

type TrailOptions = Parameters<typeof memoryTrail>[0]

async function start(t: TestContext, of: TrailOptions) {
  const kit = await memoryTrail(of)
  const server = await SpecServer.start(t, {
    domain: of.domain ?? 'orch.io',
    dependencies: { audit: kit.trail },
  })
  t.after(() => kit.close())
  let count = 0
  /** Sends a request and waits for its audit events. */
  const requested = async (
    events: number,
    ...[method, path, asking = {}]: Parameters<SpecServer['ask']>
  ): Promise<readonly LoggedEvent[]> => {
    const id = `test-${++count}`
    await server.ask(method, path, { ...asking, headers: { ...asking.headers, 'audit-id': id } })
    return kit.log.of(id, events)
  }
  return { ...kit, server, requested }
}

const configMaps = '/api/v1/namespaces/default/configmaps'
const everything = [{ level: 'RequestResponse' }]
const ended = { policy: { omitStages: ['RequestReceived'] } }

function only(events: readonly LoggedEvent[]): LoggedEvent {
  assert.equal(events.length, 1)
  return events[0] ?? assert.fail('one event')
}

void describe('an event', () => {
  void test('an audit event names the user, the request, and the times of request and response', async (t) => {
    const { requested } = await start(t, { rules: [{ level: 'Metadata' }] })
    const headers = { 'user-agent': 'robot/1.0', 'x-forwarded-for': '10.1.1.1, nonsense, 10.2.2.2' }
    const body = { metadata: { name: 'a' }, data: { k: 'hidden' } }
    const events = await requested(2, 'POST', `${configMaps}?fieldManager=me`, { body, headers })
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ['RequestReceived', 'ResponseComplete'],
    )
    const [first, last] = events as [LoggedEvent, LoggedEvent]
    assert.equal(first.stageTimestamp, first.requestReceivedTimestamp)
    assert.ok(!('responseStatus' in first))
    assert.ok(last.stageTimestamp >= last.requestReceivedTimestamp)
    assert.match(last.stageTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    const { stageTimestamp, requestReceivedTimestamp, auditID } = last
    assert.deepEqual(last, {
      ...{ stageTimestamp, requestReceivedTimestamp, auditID },
      kind: 'Event',
      apiVersion: 'audit.orch.io/v1',
      level: 'Metadata',
      stage: 'ResponseComplete',
      requestURI: `${configMaps}?fieldManager=me`,
      verb: 'create',
      user: { username: 'admin', uid: '1', groups: ['system:masters', 'system:authenticated'] },
      sourceIPs: ['10.1.1.1', '10.2.2.2', '127.0.0.1'],
      userAgent: 'robot/1.0',
      objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 201 },
      annotations: { 'authorization.orch.io/decision': 'allow', 'authorization.orch.io/reason': '' },
    })
    assert.doesNotMatch(JSON.stringify(events), /hidden/)
  })

  void test('an audit event has the bodies of its level: requests in YAML and JSON, a response in protobuf', async (t) => {
    const requests = { level: 'Request', verbs: ['create', 'patch', 'delete'] }
    const { requested } = await start(t, { rules: [requests, ...everything], ...ended })
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n'
    const made = only(await requested(1, 'POST', configMaps, { body: yaml, type: 'application/yaml' }))
    assert.deepEqual(made.requestObject, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { k: 'v' },
    })
    assert.ok(!('responseObject' in made))
    const patch = [{ op: 'add', path: '/data/n', value: 'm' }]
    const patched = only(
      await requested(1, 'PATCH', `${configMaps}/a`, { body: patch, type: 'application/json-patch+json' }),
    )
    assert.deepEqual(patched.requestObject, patch)
    const headers = { accept: 'application/vnd.orch.protobuf' }
    const got = only(await requested(1, 'GET', `${configMaps}/a`, { headers }))
    const { data, kind } = got.responseObject as { readonly data: unknown; readonly kind: string }
    assert.deepEqual([kind, data], ['ConfigMap', { k: 'v', n: 'm' }])
    const removed = only(
      await requested(1, 'DELETE', `${configMaps}/a`, { body: { kind: 'DeleteOptions', apiVersion: 'v1' } }),
    )
    assert.deepEqual(removed.requestObject, { kind: 'DeleteOptions', apiVersion: 'v1' })
    assert.equal(removed.responseStatus?.status, 'Success')
    assert.equal(removed.responseStatus.code, 200)
  })

  void test('the audit event of a list has no objects; that of a watch has no objects and two stages', async (t) => {
    const { log, requested, server } = await start(t, { rules: everything })
    const [, listed] = await requested(2, 'GET', '/api/v1/namespaces')
    assert.equal(listed?.responseStatus?.code, 200)
    assert.ok(!('responseObject' in listed))
    const watching = await server.watch('/api/v1/namespaces?watch=true', { 'audit-id': 'watch-1' })
    await watching.take(1)
    assert.deepEqual(
      (await log.of('watch-1', 2)).map(({ stage, verb }) => `${verb} ${stage}`),
      ['watch RequestReceived', 'watch ResponseStarted'],
    )
    watching.leave()
    const last = (await log.of('watch-1', 3))[2]
    assert.equal(last?.stage, 'ResponseComplete')
    assert.equal(last.responseStatus?.code, 200)
    assert.ok(!('responseObject' in last))
  })

  void test('an audit event has the text of a refusal and the authorization decision', async (t) => {
    const { requested } = await start(t, { rules: everything, ...ended })
    const path = '/api/v1/namespaces/default/secrets/a'
    const forbidden = only(await requested(1, 'GET', path, { headers: NOBODY }))
    assert.equal(forbidden.user.username, 'nobody')
    assert.equal(forbidden.responseStatus?.code, 403)
    assert.equal(forbidden.responseStatus.reason, 'Forbidden')
    assert.match(forbidden.responseStatus.message ?? '', /cannot get resource "secrets"/)
    assert.equal(forbidden.annotations?.['authorization.orch.io/decision'], 'forbid')
    assert.equal((forbidden.responseObject as { readonly kind: string }).kind, 'Status')
    const missing = only(await requested(1, 'GET', path))
    assert.equal(missing.responseStatus?.reason, 'NotFound')
    assert.equal(missing.annotations?.['authorization.orch.io/decision'], 'allow')
  })

  void test('a request that fails authentication has a ResponseStarted event only', async (t) => {
    const { requested } = await start(t, { rules: [{ level: 'Metadata' }] })
    const headers = { authorization: 'Bearer stolen-token' }
    const event = only(await requested(1, 'GET', '/api/v1/nodes', { headers }))
    assert.equal(event.stage, 'ResponseStarted')
    assert.deepEqual(event.user, {})
    assert.equal(event.responseStatus?.code, 401)
    assert.doesNotMatch(JSON.stringify(event), /stolen-token/)
  })

  void test('a request that fails in the server has a Panic event', async (t) => {
    const kit = await memoryTrail({ rules: everything })
    const fake = new FakeRegistry()
    fake.answer = () => {
      throw new Error('unforeseen')
    }
    const { server } = await serverAround(fake.registry, { audit: kit.trail })
    const { port } = await server.listen('127.0.0.1', 0)
    t.after(async () => {
      await server.drain({ shutdownDelayMs: 0, graceMs: 0 })
      await kit.close()
    })
    const headers = { ...ADMIN, 'audit-id': 'p' }
    await (await fetch(`http://127.0.0.1:${port}${configMaps}/a`, { headers })).text()
    const [, last] = await kit.log.of('p', 2)
    assert.equal(last?.stage, 'Panic')
    assert.equal(last.responseStatus?.code, 500)
  })
})

void describe('secrets', () => {
  void test('secrets are not logged at the Metadata level, and tokens at no level', async (t) => {
    const rules = [{ level: 'Metadata', resources: [{ resources: ['secrets'] }] }, ...everything]
    const { requested, log } = await start(t, { rules })
    const secret = { metadata: { name: 's' }, stringData: { password: 'pass-word-1' } }
    await requested(2, 'POST', '/api/v1/namespaces/default/secrets', { body: secret })
    await requested(2, 'GET', '/api/v1/namespaces/default/secrets/s')
    const review = { spec: { token: 'admin-token' } }
    const asking = { body: review }
    const [, reviewed] = await requested(2, 'POST', '/apis/authentication.orch.io/v1/tokenreviews', asking)
    assert.equal(reviewed?.responseStatus?.code, 201)
    assert.deepEqual((reviewed.requestObject as { readonly spec: unknown }).spec, { token: '[withheld]' })
    const { status } = reviewed.responseObject as { readonly status: { readonly authenticated: boolean } }
    assert.equal(status.authenticated, true, 'the rest is there')
    assert.doesNotMatch(log.text, /pass-word-1|cGFzcy13b3JkLTE|admin-token/)
  })

  void test('bodies that are too long are replaced with a notice', async (t) => {
    const { requested } = await start(t, { rules: everything, ...ended })
    const data = { k: 'x'.repeat(limits.auditEventBytesMax / 2) }
    const event = only(await requested(1, 'POST', configMaps, { body: { metadata: { name: 'long' }, data } }))
    assert.equal(event.annotations?.['audit.orch.io/truncated'], 'true')
    assert.ok(!('requestObject' in event) && !('responseObject' in event))
    assert.equal(event.objectRef?.['name'], 'long')
  })
})

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 6.2: requests to deprecated endpoints add ${domain}/deprecated to their audit event`, async (t) => {
    const { requested } = await start(t, { rules: [{ level: 'Metadata' }], domain, ...ended })
    const group = `/apis/storage.${domain}`
    const old = only(await requested(1, 'GET', `${group}/v1beta1/csistoragecapacities`))
    assert.equal(old.annotations?.[`${domain}/deprecated`], 'true')
    assert.equal(old.annotations[`${domain}/removed-release`], '1.27')
    const stable = only(await requested(1, 'GET', `${group}/v1/csistoragecapacities`))
    const observed = only(await requested(1, 'GET', '/api/v1/componentstatuses/store'))
    assert.deepEqual(observed.objectRef, {
      ...{ resource: 'componentstatuses', name: 'store', apiVersion: 'v1' },
    })
    assert.equal(observed.annotations?.[`${domain}/deprecated`], 'true')
    assert.equal(observed.annotations[`${domain}/removed-release`], undefined)
    assert.equal(stable.annotations?.[`${domain}/deprecated`], undefined)
  })
}

void describe('a slow or broken audit log', () => {
  const within = (what: Promise<unknown>): Promise<string> =>
    Promise.race([what.then(() => 'answered'), sleep(300, 'waits')])

  void test('blocking: a request waits until its event is written, or lost', async (t) => {
    const { server, log, reported, metrics } = await start(t, { rules: [{ level: 'Metadata' }] })
    const go = log.holdUp()
    const asking = server.ask('GET', '/version')
    await log.heldUp()
    assert.equal(await within(asking), 'waits')
    go()
    assert.equal((await asking).status, 200)
    log.broken = 'ENOSPC: no space left on device'
    assert.equal((await server.ask('GET', '/version')).status, 200)
    assert.match(reported.join('\n'), /audit events are lost.*ENOSPC/)
    assert.match(await metrics.metrics(), /apiserver_audit_error_total\{plugin="log"\} [1-9]/)
    assert.match(await metrics.metrics(), /apiserver_audit_requests_rejected_total 0/)
  })

  void test('blocking-strict: a request that no rule audits does not wait', async (t) => {
    const { server, log, metrics } = await start(t, { rules: [{ level: 'None' }], mode: 'blocking-strict' })
    log.holdUp()
    assert.equal((await server.ask('GET', '/version')).status, 200)
    assert.equal(log.text, '')
    assert.match(await metrics.metrics(), /apiserver_audit_level_total\{level="None"\} 1/)
  })

  void test('blocking-strict: a request whose event is lost is refused before it is executed', async (t) => {
    const { server, log, metrics } = await start(t, { rules: everything, mode: 'blocking-strict' })
    log.broken = 'EIO'
    const refused = await server.ask('POST', configMaps, { body: { metadata: { name: 'never' } } })
    assert.equal(refused.status, 500)
    assert.match(refused.doc.message ?? '', /failed to store audit event/)
    log.broken = null
    assert.equal((await server.ask('GET', `${configMaps}/never`)).status, 404)
    assert.match(await metrics.metrics(), /apiserver_audit_requests_rejected_total 1/)
  })

  void test('batch: no request waits for its event', async (t) => {
    const { server, log, requested } = await start(t, { rules: [{ level: 'Metadata' }], mode: 'batch' })
    const go = log.holdUp()
    assert.equal((await server.ask('GET', '/version')).status, 200)
    assert.equal(log.text, '')
    go()
    await requested(2, 'GET', '/version')
  })

  void test('a request that waits too long for its event fails and is not executed', async (t) => {
    const kit = await memoryTrail({ rules: everything })
    t.after(() => kit.close())
    const bounds = { ...serverLimits, requestMsMax: 2000 }
    const server = await SpecServer.start(t, { dependencies: { audit: kit.trail, limits: bounds } })
    const go = kit.log.holdUp()
    const late = await server.ask('POST', configMaps, { body: { metadata: { name: 'late' } } })
    assert.equal(late.status, 504)
    go()
    const events = await kit.log.of(late.headers.get('audit-id') ?? '', 2)
    assert.match(await kit.metrics.metrics(), /apiserver_audit_requests_rejected_total 1/)
    assert.equal(events[1]?.responseStatus?.code, 504)
    assert.equal((await server.ask('GET', `${configMaps}/late`)).status, 404)
  })

  void test('the request of a client that disconnects while it waits is not executed', async (t) => {
    const { server, log, metrics } = await start(t, { rules: everything })
    const go = log.holdUp()
    const stop = new AbortController()
    const body = { metadata: { name: 'left' } }
    const asking = server.ask('POST', configMaps, {
      body,
      headers: { 'audit-id': 'left' },
      signal: stop.signal,
    })
    const failed = assert.rejects(asking)
    await log.heldUp()
    assert.equal(await within(failed), 'waits')
    stop.abort()
    await failed
    const isCounted = async (): Promise<boolean> => /requests_rejected_total 1/.test(await metrics.metrics())
    for (let attempt = 0; attempt < 6000 && !(await isCounted()); attempt++) await sleep(10)
    assert.ok(await isCounted())
    go()
    const [, last] = await log.of('left', 2)
    assert.equal(last?.responseStatus?.code, 499)
    assert.equal((await server.ask('GET', `${configMaps}/left`)).status, 404)
  })
})
