/*
 * Goal: a server responds and shuts down while its standard output is not read; a resumed reader
 * gets whole lines of the log and of the audit log there.
 * Method: a real server whose standard output is a full pipe, while each request writes to both
 * logs.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, readEndpoints } from '../../src/cli/member-client.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import type { Reply } from '../../src/cli/member-client.ts'
import { freePorts } from '../../fixtures/port-range.ts'
import { serverProgram } from '../support/drivers/programs.ts'
import { patienceMs, until } from '../support/tools/until.ts'

/** The log lines of these changes are more than a pipe holds. */
const changes = 400

void test('a stalled reader of standard output blocks neither requests nor the shutdown', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-stalled-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const policy = join(scratch, 'policy.yaml')
  writeFileSync(policy, 'apiVersion: audit.orch.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n')
  const [port = 0] = await freePorts(1)
  const audit = [`--audit-policy-file=${policy}`, '--audit-log-path=-', '--audit-log-mode=batch']
  const place = [`--data-dir=${scratch}/data`, '--bind-address=127.0.0.1', `--secure-port=${port}`]
  const child = spawn(process.execPath, [serverProgram, ...place, ...audit], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // A stopped process handles no other signal.
    killSignal: 'SIGKILL',
    timeout: 2 * patienceMs,
  })
  t.after(() => child.kill('SIGKILL'))
  const kubeconfig = join(scratch, 'data/admin.kubeconfig')
  await until('it has made its kubeconfig', () => existsSync(kubeconfig))
  const [endpoint] = readEndpoints(kubeconfig)
  assert.ok(endpoint)
  await until('it is ready', async () => (await asked(endpoint, '/readyz'))?.status === 200)

  for (let n = 1; n <= changes; n++) {
    const body = { historyEventsMin: 1000 + n }
    const reply = await call(endpoint, { method: 'POST', path: '/cluster/v1/settings', body }, patienceMs)
    assert.equal(reply?.status, 200, `change ${n}: ${reply?.body ?? 'no answer'}`)
  }
  const metrics = (await asked(endpoint, '/metrics'))?.body ?? ''
  assert.match(metrics, /^orch_log_lines_lost_total 0$/m, 'all of it is kept')

  const [stdout, ended] = [child.stdout, once(child, 'close')]
  child.kill('SIGTERM')
  let text = ''
  stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  assert.deepEqual(await ended, [0, null])
  const lines = text.split('\n')
  assert.equal(lines.pop(), '')
  const given = lines.map((line) => JSON.parse(line) as { readonly msg?: string; readonly kind?: string })
  assert.equal(given.filter(({ msg }) => msg === 'settings changed').length, changes)
  assert.ok(given.filter(({ kind }) => kind === 'Event').length >= 2 * changes)
  assert.ok(given.some(({ msg }) => msg === 'stopping'))
})

function asked(endpoint: Endpoint, path: string): Promise<Reply | null> {
  return call(endpoint, { method: 'GET', path }, patienceMs)
}
