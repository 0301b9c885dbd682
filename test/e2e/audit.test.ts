/*
 * Goal: the audit log records users and requests by policy, also when it is rotated under load;
 * write failures are reported to the operator, and in one mode to clients; an invalid policy or
 * path is refused with a one-line error.
 * Method: a real server process, a real kubectl, real files; /dev/full for a full disk.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { eventsIn } from '../support/fakes/memory-audit-log.ts'
import type { LoggedEvent } from '../support/fakes/memory-audit-log.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { serverProgram } from '../support/drivers/programs.ts'
import { patienceMs, until } from '../support/tools/until.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-audit-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

function policyFile(name: string, text: string): string {
  const path = join(scratch, name)
  writeFileSync(path, `apiVersion: audit.k8s.io/v1\nkind: Policy\n${text}`)
  return path
}

async function start(
  t: TestContext,
  config: Readonly<Record<string, unknown>>,
): Promise<{ readonly cluster: ProcessCluster; readonly member: MemberProcess }> {
  const cluster = await ProcessCluster.start({ members: 1, config })
  t.after(() => cluster.remove())
  return { cluster, member: cluster.members[0] ?? assert.fail('one member') }
}

/**
 * Waits for an event that matches, and returns the first one. The last line of the file may be
 * incomplete.
 */
async function found(path: string, wanted: (event: LoggedEvent) => boolean): Promise<LoggedEvent> {
  const event = (): LoggedEvent | undefined => {
    const text = readFileSync(path, 'utf8')
    return eventsIn(text.slice(0, text.lastIndexOf('\n') + 1)).find(wanted)
  }
  await until(
    'there is such an event',
    () => event() !== undefined,
    () => readFileSync(path, 'utf8'),
  )
  return event() ?? assert.fail('there is one')
}

void test('spec 6.2: kubectl reads a deprecated kind, and the audit log names the user and the deprecation', async (t) => {
  const path = join(scratch, 'deprecated.log')
  const rules = [
    'rules:',
    '- {level: Metadata, resources: [{resources: [secrets]}]}',
    '- {level: RequestResponse, resources: [{group: storage.k8s.io}]}',
    'omitStages: [RequestReceived]',
  ]
  const { cluster, member } = await start(t, {
    'audit-policy-file': policyFile('deprecated.yaml', rules.join('\n')),
    'audit-log-path': path,
  })
  const kubectl = Kubectl.find()
  await kubectl.ok(cluster.kubeconfig, ['get', 'csistoragecapacities.v1beta1.storage.k8s.io', '-A'])
  const event = await found(path, ({ objectRef }) => objectRef?.['apiVersion'] === 'v1beta1')
  assert.equal(event.apiVersion, 'audit.k8s.io/v1')
  assert.equal(event.verb, 'list')
  assert.equal(event.responseStatus?.code, 200)
  assert.ok(event.user.groups?.includes('system:masters'))
  assert.match(event.userAgent ?? '', /^kubectl/)
  assert.deepEqual(event.sourceIPs, ['127.0.0.1'])
  assert.equal(event.annotations?.['k8s.io/deprecated'], 'true')
  assert.equal(event.annotations['k8s.io/removed-release'], '1.27')
  assert.equal(event.annotations['authorization.k8s.io/decision'], 'allow')

  await kubectl.ok(cluster.kubeconfig, ['create', 'secret', 'generic', 's', '--from-literal=k=pass-word-1'])
  await kubectl.ok(cluster.kubeconfig, ['create', 'configmap', 'c', '--from-literal=k=v'])
  const made = await found(path, ({ verb, objectRef }) => verb === 'create' && objectRef?.['name'] === 's')
  assert.equal(made.level, 'Metadata')
  assert.equal(await member.stop(), 0)
  const text = readFileSync(path, 'utf8')
  assert.doesNotMatch(text, /pass-word-1|cGFzcy13b3JkLTE/)
  assert.ok(eventsIn(text).every(({ objectRef }) => objectRef?.['resource'] !== 'configmaps'))
})

void test('an audit log rotated under load loses only the files beyond the retention', async (t) => {
  const directory = join(scratch, 'rotated')
  const { member } = await start(t, {
    'audit-policy-file': policyFile(
      'rotated.yaml',
      'rules: [{level: Request, verbs: [create], resources: [{resources: [configmaps]}]}]\nomitStages: [RequestReceived]',
    ),
    'audit-log-path': join(directory, 'audit.log'),
    'audit-log-maxsize': 1,
    'audit-log-maxbackup': 2,
  })
  const data = { k: 'x'.repeat(50_000) }
  const names = Array.from({ length: 120 }, (_, at) => `load-${String(at).padStart(3, '0')}`)
  const waiting = [...names]
  let moment = 0
  const [askedAt, answeredAt] = [new Map<string, number>(), new Map<string, number>()]
  const one = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const body = { metadata: { name }, data }
      askedAt.set(name, moment++)
      const { status, text } = await member.client.post('/api/v1/namespaces/default/configmaps', body)
      answeredAt.set(name, moment++)
      assert.equal(status, 201, text)
    }
  }
  await Promise.all([one(), one(), one(), one()])
  assert.equal(await member.stop(), 0)
  const files = readdirSync(directory).sort()
  assert.equal(files.length, 3, files.join(' '))
  assert.match(files[0] ?? '', /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/)
  assert.equal(files[2], 'audit.log')
  const logged: string[] = []
  for (const file of files) {
    const text = readFileSync(join(directory, file), 'utf8')
    assert.ok(text.length <= 1024 * 1024, `${file} has ${text.length}`)
    assert.ok(text.endsWith('}\n'))
    logged.push(...eventsIn(text).map(({ objectRef }) => objectRef?.['name'] ?? ''))
  }
  // Requests sent after the response to the oldest remaining one are logged after it.
  const oldestAt = answeredAt.get(logged[0] ?? '') ?? assert.fail(`${logged[0]} is left`)
  const kept = names.filter((name) => (askedAt.get(name) ?? 0) > oldestAt)
  assert.ok(kept.length > 40, `${kept.length} are left`)
  assert.deepEqual(
    kept.filter((name) => !logged.includes(name)),
    [],
  )
  assert.equal(new Set(logged).size, logged.length)
})

void describe('a log on a full disk', () => {
  const policy = (name: string): string =>
    policyFile(name, 'rules: [{level: Metadata, resources: [{resources: [configmaps]}]}]')
  const configMap = (name: string) => ({ metadata: { name } })
  const path = '/api/v1/namespaces/default/configmaps'

  void test('a full disk blocks no request and is reported once', async (t) => {
    const { member } = await start(t, {
      'audit-policy-file': policy('full.yaml'),
      'audit-log-path': '/dev/full',
    })
    for (const name of ['a', 'b', 'c']) {
      assert.equal((await member.client.post(path, configMap(name))).status, 201)
    }
    const metrics = (await member.client.get('/metrics')).text
    assert.match(metrics, /apiserver_audit_error_total\{plugin="log"\} [1-9]/)
    assert.match(metrics, /apiserver_audit_requests_rejected_total 0/)
    const lines = readFileSync(join(member.directory, 'server.log'), 'utf8').split('\n')
    const reported = lines.filter((line) => line.includes('audit events are lost'))
    assert.equal(reported.length, 1)
    assert.match(reported[0] ?? '', /\/dev\/full.*ENOSPC.*free space/)
    assert.equal(await member.stop(), 0)
  })

  void test('in blocking-strict mode an audited request is refused on a full disk, and another one is served', async (t) => {
    const { member } = await start(t, {
      'audit-policy-file': policy('strict.yaml'),
      'audit-log-path': '/dev/full',
      'audit-log-mode': 'blocking-strict',
    })
    const refused = await member.client.post(path, configMap('a'))
    assert.equal(refused.status, 500)
    assert.match(refused.text, /failed to store audit event/)
    assert.equal((await member.client.post('/api/v1/namespaces', { metadata: { name: 'a' } })).status, 201)
    const metrics = (await member.client.get('/metrics')).text
    assert.match(metrics, /apiserver_audit_requests_rejected_total 1/)
  })
})

void test('a webhook receives the events that it rejected at first, and those that wait when the member stops', async (t) => {
  const posts: { readonly authorization: string; readonly items: readonly LoggedEvent[] }[] = []
  let failing = 2
  const receiver = createServer((request, reply) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (failing-- > 0) {
        reply.writeHead(503).end()
        return
      }
      const list = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { readonly items: LoggedEvent[] }
      posts.push({ authorization: request.headers.authorization ?? '', items: list.items })
      reply.writeHead(200).end()
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.after(() => receiver.close())
  const address = receiver.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  const kubeconfig = join(scratch, 'hook.kubeconfig')
  const cluster = { server: `http://127.0.0.1:${address.port}/events` }
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'hook-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(kubeconfig, JSON.stringify(config))
  const { member } = await start(t, {
    'audit-policy-file': policyFile(
      'hook.yaml',
      'rules: [{level: Metadata, resources: [{resources: [configmaps]}]}]',
    ),
    'audit-webhook-config-file': kubeconfig,
    'audit-webhook-batch-max-wait': '200ms',
    'audit-webhook-initial-backoff': '50ms',
  })
  const make = async (name: string): Promise<void> => {
    const made = await member.client.post('/api/v1/namespaces/default/configmaps', { metadata: { name } })
    assert.equal(made.status, 201, made.text)
  }
  const names = (): readonly (string | undefined)[] =>
    posts
      .flatMap(({ items }) => items)
      .filter(({ stage, verb }) => stage === 'ResponseComplete' && verb === 'create')
      .map(({ objectRef }) => objectRef?.['name'])
  await make('first')
  await until('the first one is sent', () => names().length > 0)
  assert.deepEqual(names(), ['first'])
  assert.equal(posts[0]?.authorization, 'Bearer hook-token')
  await make('last')
  assert.equal(await member.stop(), 0)
  assert.deepEqual(names(), ['first', 'last'])
})

void describe('impossible audit options fail with a one-line error', () => {
  const good = policyFile('good.yaml', 'rules: [{level: None}]')
  const bad = policyFile('bad.yaml', 'rules: [{level: Metadata, verb: [get]}]')
  const log = join(scratch, 'never.log')
  const noAuthority = (): string => {
    const path = join(scratch, 'spoiled.kubeconfig')
    const data = Buffer.from('-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----').toString(
      'base64',
    )
    const cluster = { server: 'https://127.0.0.1:1', 'certificate-authority-data': data }
    const contexts = [{ name: 'x', context: { cluster: 'c' } }]
    const clusters = [{ name: 'c', cluster }]
    writeFileSync(path, JSON.stringify({ clusters, contexts, 'current-context': 'x' }))
    return path
  }
  const table: readonly (readonly [string, readonly string[], RegExp])[] = [
    [
      'an audit policy with an unknown field is refused',
      ['--audit-policy-file', bad, '--audit-log-path', log],
      /--audit-policy-file: .*bad\.yaml: unknown field "rules\[0\]\.verb": known are level, /,
    ],
    [
      'an audit policy file that does not exist is refused',
      ['--audit-policy-file', join(scratch, 'none.yaml'), '--audit-log-path', log],
      /--audit-policy-file: .*none\.yaml cannot be read \(ENOENT\)/,
    ],
    [
      'an audit log path that cannot be written is refused',
      ['--audit-policy-file', good, '--audit-log-path', join(good, 'audit.log')],
      /--audit-log-path .* cannot be written \(.*ENOTDIR.*\): name a file that this process may write/,
    ],
    [
      'an audit policy without a log or webhook is refused',
      ['--audit-policy-file', good],
      /needs a destination: add --audit-log-path or --audit-webhook-config-file/,
    ],
    [
      'an audit webhook without a policy is refused',
      ['--audit-webhook-config-file', good],
      /--audit-webhook-config-file needs --audit-policy-file/,
    ],
    [
      'an audit webhook with an invalid CA is refused',
      ['--audit-policy-file', good, '--audit-webhook-config-file', noAuthority()],
      /--audit-webhook-config-file: .*spoiled\.kubeconfig: certificate-authority is not a certificate in PEM/,
    ],
    [
      'an audit webhook file that is not a kubeconfig is refused',
      ['--audit-policy-file', good, '--audit-webhook-config-file', good],
      /--audit-webhook-config-file: .*good\.yaml: current-context names no context/,
    ],
    [
      'an audit log without a policy is refused',
      ['--audit-log-path', log],
      /--audit-log-path needs --audit-policy-file/,
    ],
    [
      'a maximum size for an audit log on standard output is refused',
      ['--audit-policy-file', good, '--audit-log-path', '-', '--audit-log-maxsize', '5'],
      /--audit-log-maxsize applies to a file/,
    ],
    [
      'an unknown audit log mode is refused',
      ['--audit-policy-file', good, '--audit-log-path', log, '--audit-log-mode', 'async'],
      /--audit-log-mode \(command line\) must be one of blocking, blocking-strict, batch/,
    ],
  ]
  for (const [what, flags, words] of table) {
    void test(what, () => {
      const args = [serverProgram, '--in-memory', '--secure-port', '0', '--api-domain', 'k8s.io', ...flags]
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: patienceMs })
      assert.equal(status, 2, stderr)
      const lines = stderr.split('\n').filter((line) => line !== '')
      assert.equal(lines.length, 1, stderr)
      assert.match(lines[0] ?? '', words)
    })
  }
})

void test('events on standard output are interleaved with log lines', async (t) => {
  const { member } = await start(t, {
    'audit-policy-file': policyFile('out.yaml', 'rules: [{level: Metadata, nonResourceURLs: [/version]}]'),
    'audit-log-path': '-',
  })
  assert.equal((await member.client.get('/version')).status, 200)
  assert.equal(await member.stop(), 0)
  const lines = readFileSync(join(member.directory, 'server.log'), 'utf8').split('\n')
  const events = lines.filter((line) => line.includes('"kind":"Event"'))
  assert.deepEqual(
    events.flatMap((line) => eventsIn(line)).map(({ stage, verb }) => `${verb} ${stage}`),
    ['get RequestReceived', 'get ResponseComplete'],
  )
  for (const line of lines) if (line !== '') assert.doesNotThrow(() => JSON.parse(line) as unknown, line)
})
