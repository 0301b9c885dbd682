/*
 * Goal: orchctl authenticates at a real server with the credentials of real plugins, renews them
 * when they expire or are refused, and reports clearly when there are none.
 * Method: the whole server of one member, and a shell script as the plugin, which records its runs
 * and inputs and prints prepared answers.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { call, readEndpoints } from '../../src/cli/member-client.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import { SharedSources, processHost } from '../../src/credentials/host.ts'
import type { CredentialHost } from '../../src/credentials/host.ts'
import { credentialLimits } from '../../src/credentials/limits.ts'
import { Connection } from '../../tools/verify/connection.ts'
import { systemClock } from '../../fixtures/system.ts'
import { ManualClock } from '../support/fakes/manual-clock.ts'
import { AccessServer } from '../support/fixtures/access-server.ts'
import { patienceMs } from '../support/tools/until.ts'

const v1 = 'client.authentication.orch.io/v1'
const script = `#!/bin/sh
cd "$(dirname "$0")"
echo run >> runs
n=$(grep -c . runs)
printf %s "$ORCH_EXEC_INFO$KUBERNETES_EXEC_INFO" > input.$n
echo 'please log in' >&2
cat output.$n 2>/dev/null || cat output
`

/** A directory with a plugin and a kubeconfig that names it. */
class Plugin {
  readonly kubeconfig: string
  readonly clock = new ManualClock()
  readonly #scratch: string
  readonly #host: CredentialHost

  constructor(t: TestContext, api: AccessServer, exec: object = {}) {
    this.#scratch = mkdtempSync(join(tmpdir(), 'orch-plugin-'))
    t.after(() => rmSync(this.#scratch, { recursive: true, force: true }))
    this.kubeconfig = join(this.#scratch, 'config')
    writeFileSync(join(this.#scratch, 'login'), script)
    chmodSync(join(this.#scratch, 'login'), 0o700)
    const cluster = {
      server: api.url,
      'certificate-authority-data': Buffer.from(api.serverAuthority.pem).toString('base64'),
      extensions: [{ name: 'client.authentication.orch.io/exec', extension: { audience: 'a' } }],
    }
    const section = { apiVersion: v1, command: './login', interactiveMode: 'IfAvailable', ...exec }
    writeFileSync(
      this.kubeconfig,
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'n1' },
        clusters: [{ name: 'c', cluster }],
        users: [{ name: 'u', user: { exec: section } }],
        contexts: [{ name: 'n1', context: { cluster: 'c', user: 'u' } }],
      }),
    )
    this.#host = { ...processHost, clock: this.clock, sources: new SharedSources() }
  }

  /** @param run from 1; unset: all other runs */
  answers(status: object, run?: number, apiVersion = v1): void {
    this.prints(JSON.stringify({ kind: 'ExecCredential', apiVersion, status }), run)
  }

  prints(text: string, run?: number): void {
    writeFileSync(join(this.#scratch, run === undefined ? 'output' : `output.${run}`), text)
  }

  get runs(): number {
    return readFileSync(join(this.#scratch, 'runs'), 'utf8').split('\n').length - 1
  }

  input(run: number): unknown {
    return JSON.parse(readFileSync(join(this.#scratch, `input.${run}`), 'utf8'))
  }

  endpoint(): Endpoint {
    return readEndpoints(this.kubeconfig, this.#host)[0] ?? assert.fail('it has a context')
  }
}

/** Returns the user that the server names in its refusal, or the status of another answer. */
async function userAt(endpoint: Endpoint): Promise<string> {
  const reply = await call(endpoint, { method: 'GET', path: '/nowhere' }, patienceMs)
  return userIn(reply?.status ?? 0, reply?.body ?? '')
}

function userIn(status: number, body: string): string {
  return / User \\"(.*?)\\" cannot /.exec(body)?.[1] ?? String(status)
}

function pairOf(api: AccessServer, name: string): object {
  const { cert, key } = api.client(name)
  return { clientCertificateData: cert, clientKeyData: key }
}

void test('spec 5.5: the answer of a plugin, a token or a certificate, authenticates, in each API version', async (t) => {
  const api = await AccessServer.start(t, {})
  for (const domain of ['orch.io', 'k8s.io']) {
    for (const version of ['v1', 'v1beta1']) {
      const apiVersion = `client.authentication.${domain}/${version}`
      const plugin = new Plugin(t, api, { apiVersion })
      plugin.answers({ token: 'static-token' }, undefined, apiVersion)
      assert.equal(await userAt(plugin.endpoint()), 'static')
      assert.deepEqual(plugin.input(1), {
        ...{ kind: 'ExecCredential', apiVersion, spec: { interactive: false } },
      })
      const certified = new Plugin(t, api, { apiVersion })
      certified.answers(pairOf(api, 'carla'), undefined, apiVersion)
      assert.equal(await userAt(certified.endpoint()), 'carla')
    }
  }
})

void test('spec 5.5: the cache returns credentials until they expire', async (t) => {
  const api = await AccessServer.start(t, {})
  const plugin = new Plugin(t, api)
  const expiration = new Date(plugin.clock.wallMs() + 30_000).toISOString()
  plugin.answers({ ...pairOf(api, 'first'), expirationTimestamp: expiration }, 1)
  plugin.answers({ token: 'static-token' })
  const endpoint = plugin.endpoint()
  assert.deepEqual([await userAt(endpoint), await userAt(endpoint), plugin.runs], ['first', 'first', 1])
  await plugin.clock.advance(31_000)
  assert.deepEqual([await userAt(endpoint), await userAt(endpoint), plugin.runs], ['static', 'static', 2])
})

void test('spec 5.5: the cache returns credentials until a 401: the plugin runs once again, and the request is repeated once', async (t) => {
  const api = await AccessServer.start(t, {})
  const plugin = new Plugin(t, api)
  plugin.answers({ token: 'revoked' }, 1)
  plugin.answers({ token: 'static-token' })
  const endpoint = plugin.endpoint()
  assert.deepEqual([await userAt(endpoint), await userAt(endpoint), plugin.runs], ['static', 'static', 2])
  const wrong = new Plugin(t, api)
  wrong.answers({ token: 'wrong' })
  const refused = wrong.endpoint()
  assert.deepEqual([await userAt(refused), await userAt(refused), wrong.runs], ['401', '401', 2])
})

void test('spec 5.5: a new certificate starts a new TLS handshake on a connection that is kept open', async (t) => {
  const api = await AccessServer.start(t, {})
  const plugin = new Plugin(t, api)
  const expiration = new Date(plugin.clock.wallMs() + 30_000).toISOString()
  plugin.answers({ ...pairOf(api, 'first'), expirationTimestamp: expiration }, 1)
  plugin.answers(pairOf(api, 'second'))
  const connection = new Connection(plugin.endpoint(), systemClock)
  t.after(() => connection.close())
  const ask = async (): Promise<readonly [string, number]> => {
    const reply = await connection.ask({ method: 'GET', path: '/nowhere', body: null }, patienceMs)
    assert.equal(reply.kind, 'reply')
    return [userIn(reply.status, reply.body), reply.connection]
  }
  const [first, again] = [await ask(), await ask()]
  assert.deepEqual([first[0], again], ['first', first])
  await plugin.clock.advance(31_000)
  const second = await ask()
  assert.equal(second[0], 'second')
  assert.notEqual(second[1], first[1])
})

void test('spec 5.5: `ORCH_EXEC_INFO` has the cluster data where provideClusterInfo requests it', async (t) => {
  const api = await AccessServer.start(t, {})
  const plugin = new Plugin(t, api, { provideClusterInfo: true })
  plugin.answers({ token: 'static-token' })
  assert.equal(await userAt(plugin.endpoint()), 'static')
  assert.deepEqual(plugin.input(1), {
    ...{ kind: 'ExecCredential', apiVersion: v1 },
    spec: {
      cluster: {
        server: api.url,
        'certificate-authority-data': Buffer.from(api.serverAuthority.pem).toString('base64'),
        config: { audience: 'a' },
      },
      interactive: false,
    },
  })
})

const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** Runs a command without a terminal. */
function orchctl(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program, ...args], (_, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    )
    child.stdin?.end()
  })
}

void test('orchctl shows the messages of a plugin and acts as its user', async (t) => {
  const api = await AccessServer.start(t, {})
  const plugin = new Plugin(t, api)
  const { cert, key } = api.client('root', ['system:masters'])
  plugin.answers({ clientCertificateData: cert, clientKeyData: key })
  const { code, out, err } = await orchctl('settings', 'get', '--kubeconfig', plugin.kubeconfig)
  assert.equal(code, 0, err)
  assert.match(out, /storage quota/)
  assert.equal(err, 'please log in\n')
})

void test('a plugin that fails ends the command with the reason, without its output', async (t) => {
  const api = await AccessServer.start(t, {})
  const token = 'secret-of-the-plugin'
  const other = JSON.stringify({ kind: 'ExecCredential', apiVersion: `${v1}beta1`, status: { token } })
  const table: readonly (readonly [object, string, RegExp])[] = [
    [{ interactiveMode: 'Always' }, '', /interactiveMode is Always and the standard input is not a terminal/],
    [
      { command: './absent', installHint: 'apt install login' },
      '',
      /absent" \(user "u" of .*\) was not found: install it, or correct exec\.command\napt install login\n$/,
    ],
    [{}, `{"token": "${token}"`, /gave no credentials: it printed no ExecCredential; correct the plugin/],
    [{}, other, /is configured with .*\/v1 and answered with .*\/v1beta1; correct the plugin/],
    [{}, token.repeat(credentialLimits.outputBytesMax / 16), /printed more than 1048576 bytes/],
    [{ command: 'false' }, '', /credential plugin "false" .* failed with exit code 1: see its messages/],
  ]
  for (const [exec, output, words] of table) {
    const plugin = new Plugin(t, api, exec)
    plugin.prints(output)
    const { code, out, err } = await orchctl('settings', 'get', '--kubeconfig', plugin.kubeconfig)
    assert.deepEqual([code, out], [1, ''], err)
    assert.match(err, words)
    assert.ok(!err.includes(token), err)
  }
})
