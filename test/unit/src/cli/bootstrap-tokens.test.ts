/*
 * Goal: `orchctl token` makes tokens that work or names the reason, leaves no token that it did not
 * print, and prints no control characters of stored tokens.
 * Method: the whole command line in this process, against a small HTTP server that records calls.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { cli } from '../../../../src/cli/cli.ts'
import type { Terminal } from '../../../../src/cli/terminal.ts'
import { createAuthority } from '../../../../src/pki/authority.ts'

const secrets = '/api/v1/namespaces/system-ns/secrets'

type Reply = { readonly status: number; readonly body: object }

/** A fake API server without objects, which records calls. */
class Server {
  readonly calls: string[] = []
  /** Replies other than the usual one, by method and path. */
  readonly replies = new Map<string, Reply>()
  acceptsTokens = true
  signsClusterInfo = true
  #signatures: Readonly<Record<string, string>> = {}

  answer(request: IncomingMessage, response: ServerResponse, sent: string): void {
    const call = `${request.method ?? ''} ${(request.url ?? '').split('?')[0] ?? ''}`
    this.calls.push(call)
    const isToken = request.headers.authorization !== undefined
    if (call === `POST ${secrets}` && this.signsClusterInfo) {
      const { stringData } = JSON.parse(sent) as { readonly stringData: { readonly 'token-id': string } }
      this.#signatures = { [`jws-kubeconfig-${stringData['token-id']}`]: 'a..b' }
    }
    const body = { groups: [], items: [], data: this.#signatures }
    const usual = { status: request.method === 'POST' ? 201 : 200, body }
    const refused = { status: 401, body: { kind: 'Status', message: 'Unauthorized' } }
    const reply = isToken && !this.acceptsTokens ? refused : (this.replies.get(call) ?? usual)
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body))
  }
}

async function open(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-token-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const server = new Server()
  const http = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => void parts.push(part))
    request.on('end', () => server.answer(request, response, Buffer.concat(parts).toString()))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => http.close())
  const kubeconfig = join(directory, 'kubeconfig')
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const validity = { notBeforeMs: 0, notAfterMs: 86_400_000 }
  const ca = createAuthority({ ...validity, commonName: 'ca', random: new SeededRandom(1) }).certificatePem
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') }
  const context = { name: 'c', context: { cluster: 'c', user: 'u' } }
  const users = [{ name: 'u', user: {} }]
  const text = { clusters: [{ name: 'c', cluster }], contexts: [context], users, 'current-context': 'c' }
  writeFileSync(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...text }))
  const [printed, noted]: [string[], string[]] = [[], []]
  const terminal: Terminal = {
    ...{ clock: systemClock, random: new SeededRandom(1), program: 'orchctl' },
    print: (line) => void printed.push(...line.split('\n')),
    note: (line) => void noted.push(line),
  }
  const run = (...args: readonly string[]): Promise<number> =>
    cli(['token', ...args, '--kubeconfig', kubeconfig], terminal)
  return { server, printed, noted, run }
}

void test('token create refuses groups that no member accepts, before anything is stored', async (t) => {
  const { server, noted, run } = await open(t)
  assert.equal(await run('create', '--groups', 'system:bootstrappers:a,admins'), 2)
  assert.deepEqual(server.calls, [])
  assert.match(noted.join(), /admins.*system:bootstrappers:/)
  assert.equal(await run('create', '--groups', ''), 0)
})

void test('token create stores no token when cluster-info cannot be created, as it prints none then', async (t) => {
  const { server, printed, run } = await open(t)
  const forbidden = { status: 403, body: { kind: 'Status', message: 'configmaps is forbidden' } }
  server.replies.set('POST /api/v1/namespaces/public-ns/configmaps', forbidden)
  assert.equal(await run('create'), 1)
  assert.deepEqual(printed, [])
  assert.equal(server.calls.includes(`POST ${secrets}`), false)
})

void test('token create names the flag that members lack when they refuse the new token', async (t) => {
  const { server, printed, noted, run } = await open(t)
  server.acceptsTokens = false
  assert.equal(await run('create'), 0)
  assert.match(printed.join(), /^kubeadm join .* --token [a-z0-9.]{23}/)
  assert.match(noted.join(), /--enable-bootstrap-token-auth/)
  server.acceptsTokens = true
  noted.length = 0
  assert.equal(await run('create'), 0)
  assert.deepEqual(noted, [])
})

void test('token create names the controller without which no node can check cluster-info', async (t) => {
  const { server, printed, noted, run } = await open(t)
  server.signsClusterInfo = false
  assert.equal(await run('create'), 0)
  assert.match(printed.join(), /^kubeadm join .* --token [a-z0-9.]{23}/)
  assert.match(noted.join(), /cluster-info.*not signed.*--controllers=\*,bootstrapsigner,tokencleaner/)
})

void test('the help of token create shows the default lifetime as a duration', async (t) => {
  const { printed, run } = await open(t)
  assert.equal(await run('create', '--help'), 0)
  assert.match(printed.join(' '), /--ttl <duration>[^-]*\(default:\s+24h\)/)
})

void test('token list prints a description on one line, without control characters', async (t) => {
  const { server, printed, run } = await open(t)
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  const data = { 'token-id': encoded('abcdef'), description: encoded('rack\n\u001b[31m7\u009b2J') }
  server.replies.set(`GET ${secrets}`, { status: 200, body: { items: [{ data }] } })
  assert.equal(await run('list'), 0)
  assert.equal(printed.length, 2)
  assert.match(printed[1] ?? '', /^abcdef .* rack\?\?\[31m7\?2J$/)
})
