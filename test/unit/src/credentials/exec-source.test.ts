/*
 * Goal: a plugin runs when its credentials are needed and not more often, for all requests
 * together.
 * Method: a plugin in memory on a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CredentialError } from '../../../../src/credentials/errors.ts'
import { parseExec } from '../../../../src/credentials/exec-config.ts'
import { ExecSource } from '../../../../src/credentials/exec-source.ts'
import { SharedSources } from '../../../../src/credentials/host.ts'
import { credentialLimits } from '../../../../src/credentials/limits.ts'
import type { PluginEnd, PluginRun } from '../../../../src/credentials/run-plugin.ts'
import { withCredentials } from '../../../../src/credentials/credentials.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const apiVersion = 'client.authentication.orch.io/v1'

type Kit = {
  readonly source: ExecSource
  readonly clock: ManualClock
  readonly runs: PluginRun[]
}

/** @param end returns how the run of that number, from 1, ends */
function kit(
  end: (run: number, clock: ManualClock) => PluginEnd | Promise<PluginEnd>,
  fields: object = {},
  isTerminal = false,
): Kit {
  const clock = new ManualClock()
  const runs: PluginRun[] = []
  const where = 'user "u" of /config'
  const exec = parseExec(
    { command: 'login', apiVersion, interactiveMode: 'Never', ...fields },
    { path: '/config', where },
  )
  const source = new ExecSource(
    { exec, cluster: null, impersonation: [], where },
    {
      clock,
      run: async (run) => {
        runs.push(run)
        return end(runs.length, clock)
      },
      environment: () => ({ HOME: '/home/a', A: 'outer' }),
      isTerminal: () => isTerminal,
      sources: new SharedSources(),
    },
  )
  return { source, clock, runs }
}

function printed(token: string, expiresMs: number | null = null): PluginEnd {
  const expiration = expiresMs === null ? {} : { expirationTimestamp: new Date(expiresMs).toISOString() }
  const output = JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token, ...expiration } })
  return { kind: 'ended', output }
}

const numbered = (run: number): PluginEnd => printed(`t${run}`)

async function token({ source }: Kit): Promise<string | null> {
  return (await source.current()).token
}

void test('spec 5.5: requests share one run, and without an expiry its credentials last', async () => {
  const plugin = kit(numbered)
  const all = await Promise.all([1, 2, 3].map(() => token(plugin)))
  await plugin.clock.advance(365 * 24 * 3_600_000)
  assert.deepEqual([...all, await token(plugin)], ['t1', 't1', 't1', 't1'])
  assert.equal(plugin.runs.length, 1)
})

void test('spec 5.5: the cache returns credentials until they expire', async () => {
  const plugin = kit((run, clock) => printed(`t${run}`, clock.wallMs() + 60_000))
  assert.equal(await token(plugin), 't1')
  await plugin.clock.advance(59_000)
  assert.equal(await token(plugin), 't1')
  await plugin.clock.advance(2_000)
  assert.equal(await token(plugin), 't2')
})

void test('spec 5.5: the cache returns credentials until a 401: the request is repeated once with those of a new run', async () => {
  const plugin = kit(numbered)
  const [sent, accepted] = [[] as (string | null)[], new Set(['t2'])]
  const send = (credentials: { readonly token: string | null }): Promise<number> => {
    sent.push(credentials.token)
    return Promise.resolve(accepted.has(credentials.token ?? '') ? 200 : 401)
  }
  const isRefused = (status: number): boolean => status === 401
  assert.equal(await withCredentials(plugin.source, send, isRefused), 200)
  assert.deepEqual(sent, ['t1', 't2'])
  assert.equal(await withCredentials(plugin.source, send, isRefused), 200)
  assert.deepEqual([sent.length, plugin.runs.length], [3, 2])
})

void test('a server that refuses whatever the plugin gives does not make it run for each request', async () => {
  const plugin = kit(numbered)
  const refuse = (): Promise<number> =>
    withCredentials(
      plugin.source,
      () => Promise.resolve(401),
      () => true,
    )
  for (let turn = 0; turn < 5; turn++) assert.equal(await refuse(), 401)
  assert.equal(plugin.runs.length, 2)
  await plugin.clock.advance(credentialLimits.pluginAgainMsMin)
  assert.equal(await refuse(), 401)
  assert.equal(plugin.runs.length, 3)
})

void test('requests that were refused together cause one run', async () => {
  const plugin = kit(numbered)
  const first = await plugin.source.current()
  const renewed = await Promise.all([1, 2, 3].map(() => plugin.source.renew(first)))
  assert.deepEqual(
    renewed.map((one) => one?.token),
    ['t2', 't2', 't2'],
  )
  assert.equal((await plugin.source.renew(first))?.token, 't2', 'a late 401 for the old credentials')
  assert.equal(plugin.runs.length, 2)
})

void test('a failed run is not repeated at once', async () => {
  const plugin = kit((run) => (run === 1 ? { kind: 'failed', exitCode: 7 } : numbered(run)))
  const failed =
    /credential plugin "login" \(user "u" of \/config\) failed with exit code 7: see its messages/
  await assert.rejects(plugin.source.current(), failed)
  await assert.rejects(plugin.source.current(), failed)
  assert.equal(plugin.runs.length, 1)
  await plugin.clock.advance(credentialLimits.pluginAgainMsMin)
  assert.equal(await token(plugin), 't2')
})

void test('spec 5.5: ORCH_EXEC_INFO and the configured env are added to the environment', async () => {
  const plugin = kit(numbered, { args: ['--x'], env: [{ name: 'A', value: 'inner' }] })
  await plugin.source.current()
  const input = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec: { interactive: false } })
  assert.deepEqual(plugin.runs, [
    {
      ...{ command: 'login', args: ['--x'], hasInput: false },
      environment: { HOME: '/home/a', A: 'inner', ORCH_EXEC_INFO: input },
    },
  ])
})

void test('spec 5.5: `interactiveMode` decides whether the plugin gets the terminal', async () => {
  for (const [mode, isTerminal, hasInput] of [
    ['Never', false, false],
    ['Never', true, false],
    ['IfAvailable', false, false],
    ['IfAvailable', true, true],
    ['Always', true, true],
  ] as const) {
    const plugin = kit(numbered, { interactiveMode: mode }, isTerminal)
    await plugin.source.current()
    const [run] = plugin.runs
    assert.equal(run?.hasInput, hasInput, `${mode} ${isTerminal}`)
    assert.match(run.environment['ORCH_EXEC_INFO'] ?? '', new RegExp(`"interactive":${hasInput}`))
  }
  const plugin = kit(numbered, { interactiveMode: 'Always' })
  await assert.rejects(
    plugin.source.current(),
    /was not run: interactiveMode is Always and the standard input is not a terminal; run this in a terminal/,
  )
  assert.equal(plugin.runs.length, 0)
})

void test('each failure names the command and a remedy', async () => {
  const table: readonly (readonly [PluginEnd, RegExp])[] = [
    [{ kind: 'killed', signal: 'SIGTERM' }, /was ended by SIGTERM: run it by hand/],
    [{ kind: 'timeout' }, /was ended after 10 minutes: run it by hand/],
    [{ kind: 'too-large' }, /printed more than 1048576 bytes: it has to print one ExecCredential$/],
    [{ kind: 'not-started', code: 'EACCES' }, /cannot be run \(EACCES\): it has to be an executable file$/],
    [
      { kind: 'not-started', code: 'ENOENT' },
      /was not found: install it, or correct exec\.command\napt install login$/,
    ],
    [
      { kind: 'ended', output: 'garbage' },
      /gave no credentials: it printed no ExecCredential; correct the plugin/,
    ],
  ]
  for (const [end, words] of table) {
    await assert.rejects(
      kit(() => end, { installHint: 'apt install login' }).source.current(),
      (cause) =>
        cause instanceof CredentialError &&
        cause.code === 'plugin' &&
        cause.message.startsWith('credential plugin "login" (user "u" of /config) ') &&
        words.test(cause.message),
    )
  }
})
