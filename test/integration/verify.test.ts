/*
 * Goal: `orchctl verify` accepts a correct server and rejects broken ones, naming the anomaly.
 * Method: real servers in this process behind real sockets: the shipped one, and four that are
 * broken on purpose.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cli } from '../../src/cli/cli.ts'
import type { Terminal } from '../../src/cli/terminal.ts'
import type { Registry } from '../../src/registry/calls/verb.ts'
import type { Store } from '../../src/store/store.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import type { AnomalyKind } from '../../tools/verify/finding.ts'
import type { VerifyOptions } from '../../tools/verify/options.ts'
import { runVerify } from '../../tools/verify/run.ts'
import type { VerifyResult } from '../../tools/verify/run.ts'
import {
  droppedEvent,
  forgottenDepartures,
  lostWrite,
  staleReads,
} from '../support/fakes/broken-registries.ts'
import { freePorts } from '../../fixtures/port-range.ts'
import { freshRandom, systemClock } from '../../fixtures/system.ts'
import type { Doc } from '../support/fixtures/spec-server.ts'
import { verifiedServer, verifiedToken } from '../support/fixtures/verify-endpoint.ts'
import { allOf, verifyAgainst } from '../support/runs/verify-run.ts'

/** Longer than a busy machine stalls: a call without an answer proves nothing. */
const timeoutMs = 20_000
const traffic = { durationMs: 120_000, clients: 6, objects: 6, rate: 400, seed: 7, timeoutMs }
/** With less traffic the broken guarantee may not show. On a slow machine this takes longer. */
const enough = { calls: 300, ms: 4000 }

async function verify(
  t: TestContext,
  change: (registry: Registry, store: Store) => Registry = (registry) => registry,
): Promise<VerifyResult> {
  let calls = 0
  const counted = (verb: Registry['get']): Registry['get'] => {
    return (request) => {
      calls++
      return verb(request)
    }
  }
  const endpoint = await verifiedServer(t, (shipped, store) => {
    const registry = change(shipped, store)
    const { get, list, create, update } = registry
    return {
      ...{ ...registry, get: counted(get), list: counted(list) },
      ...{ create: counted(create), update: counted(update) },
    }
  })
  const leastMs = performance.now() + enough.ms
  return verifyAgainst(t, [endpoint], traffic, () => calls >= enough.calls && performance.now() >= leastMs)
}

function assertNamed({ judgement }: VerifyResult, kind: AnomalyKind): void {
  assert.equal(judgement.verdict, 'anomaly')
  const named = judgement.checks
    .flatMap(({ anomalies }) => anomalies)
    .filter((anomaly) => anomaly.kind === kind)
  const lengths = named.map(({ witnesses }) => witnesses.length)
  assert.ok(lengths.length > 0, allOf(judgement.checks))
  assert.ok(
    lengths.every((length) => length >= 2),
    'the report has the history that shows the violation',
  )
  // Dependent changes are reported together, in any number.
  assert.ok(Math.min(...lengths) <= 6, `the history is minimal, but has ${lengths.join()} calls`)
}

void test('a correct server is accepted', async (t) => {
  const { judgement, notes, history } = await verify(t)
  assert.equal(judgement.verdict, 'ok', allOf(judgement.checks))
  assert.deepEqual(notes, [])
  const kinds = new Set(history.calls.map(({ request }) => request.kind))
  assert.equal(kinds.size, 5, 'all kinds of calls were made')
  const modes = new Set(history.calls.map(({ request }) => ('mode' in request ? request.mode.kind : '')))
  for (const mode of ['lease', 'bounded'] as const) assert.ok(modes.has(mode), `${mode} was offered`)
  assert.ok(history.watches.some(({ resumed }) => resumed))
})

void test('a server that shows old state is rejected: stale reads', async (t) => {
  assertNamed(await verify(t, staleReads), 'stale-read')
})

void test('a server that leaves an event out is rejected: dropped event', async (t) => {
  assertNamed(await verify(t, droppedEvent), 'dropped-event')
})

void test('a server that omits the events of objects that leave a selection is rejected: dropped event', async (t) => {
  assertNamed(await verify(t, forgottenDepartures), 'dropped-event')
})

void test('a server that loses acknowledged writes is rejected: lost write', async (t) => {
  assertNamed(await verify(t, lostWrite), 'lost-write')
})

void test('the exit code of the command names its result, and it writes the requested files', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'verify-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [saved, html] = [join(directory, 'run.jsonl'), join(directory, 'run.html')]
  const run = async (...args: readonly string[]) => {
    const [printed, noted]: [string[], string[]] = [[], []]
    const terminal: Terminal = {
      ...{ print: (line) => printed.push(line), note: (line) => noted.push(line) },
      ...{ clock: systemClock, random: freshRandom(), program: 'orchctl' },
    }
    const code = await cli(['verify', ...args], terminal)
    return { code, printed: printed.join('\n'), noted: noted.join('\n') }
  }
  const against = ({ url }: Endpoint, duration = '2s'): readonly string[] => {
    const traffic = [
      '--duration',
      duration,
      '--rate',
      '400',
      '--objects',
      '5',
      '--seed',
      '3',
      '--timeout',
      '20s',
    ]
    return ['--endpoint', url, '--token', verifiedToken, ...traffic]
  }
  const right = await run(...against(await verifiedServer(t)), '--save', saved)
  assert.equal(right.code, 0, right.printed + right.noted)
  assert.match(right.printed, /^OK: all checked guarantees hold/)
  const again = await run('--history', saved, '-o', 'json', '--html', html)
  assert.equal(again.code, 0)
  assert.equal((JSON.parse(again.printed) as { verdict: string }).verdict, 'ok')
  assert.match(readFileSync(html, 'utf8'), /<svg/)
  const stale = await verifiedServer(t, staleReads)
  let broken = await run(...against(stale), '-o', 'json')
  // On a slow machine the default duration has too few calls to show the stale reads.
  for (const duration of ['8s', '32s']) {
    if (broken.code !== 1) broken = await run(...against(stale, duration), '-o', 'json')
  }
  assert.equal(broken.code, 1)
  const { history } = JSON.parse(broken.printed) as { history: string }
  assert.equal((await run('--history', history)).code, 1, 'the history of a violation is kept')
  rmSync(dirname(history), { recursive: true })
  const [port] = await freePorts(1)
  const nobody = await run('--endpoint', `http://127.0.0.1:${port}`)
  assert.equal(nobody.code, 3)
  assert.match(nobody.noted, /no endpoint answers: connect ECONNREFUSED/)
  const wrong: readonly (readonly string[])[] = [
    ['--duration', 'long'],
    ['--clients', '0'],
    ['--endpoint', 'somewhere'],
    ['--endpoint', 'https://a', '--context', 'b'],
    ['--endpoint', 'https://a', '--cert', 'c'],
    ['--kubeconfig', join(directory, 'none')],
    ['--history', saved, '--html', join(directory, 'none', 'page.html')],
    ['--history', saved, '--save', saved],
    ['--endpoint', 'https://a', '--save', join(directory, 'none', 'run.jsonl')],
    ['--endpoint', `http://127.0.0.1:${port}`, '--faults', join(directory, 'none', 'faults.jsonl')],
    ['--endpoint', `http://127.0.0.1:${port}`, '--faults', directory],
    ['--history', saved, '--faults', join(directory, 'none.jsonl')],
  ]
  for (const args of wrong) assert.equal((await run(...args)).code, 2, args.join(' '))
  for (const path of [html, '/dev/null', directory, join(directory, 'none')]) {
    const { code, noted } = await run('--history', path)
    assert.equal(code, 2, `no recording: ${path}`)
    assert.match(noted, /^orchctl: cannot read [^\n]*$/)
  }
})

void test('an interrupt before the first call ends the traffic, too', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'verify-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const options: VerifyOptions = {
    ...{ endpoints: [await verifiedServer(t)], namespace: null, balanced: false },
    // A run that is not interrupted lasts a while, so that the test fails and ends.
    ...{ ...traffic, durationMs: 20_000, history: join(directory, 'history.jsonl') },
    signal: AbortSignal.abort(),
  }
  const { history, notes } = await runVerify(options, { clock: systemClock, random: freshRandom() })
  assert.ok(history.calls.length < 100, `${history.calls.length} calls`)
  assert.deepEqual(notes, [])
})

const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  void test(`${signal} ends the traffic: the history so far is checked, and no objects are left`, async (t) => {
    const { url } = await verifiedServer(t)
    const flags = ['--endpoint', url, '--token', verifiedToken, '--duration', '1h']
    const child = spawn(process.execPath, [program, 'verify', ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.after(() => child.kill('SIGKILL'))
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    const end = once(child, 'close')
    /**
     * Returns for each namespace of the command whether its deletion was requested. No controller
     * here completes the deletion.
     */
    const made = async (): Promise<readonly boolean[]> => {
      const reply = await fetch(`${url}/api/v1/namespaces`, {
        headers: { authorization: `Bearer ${verifiedToken}` },
      })
      const { items = [] } = (await reply.json()) as Doc
      const own = items.filter(({ metadata }) => metadata?.name?.startsWith('verify-'))
      return own.map(({ metadata }) => metadata?.deletionTimestamp !== undefined)
    }
    while (child.exitCode === null && (await made()).length === 0) await sleep(20)
    // `timeout` signals its child, and then the whole process group, so the child gets two signals.
    child.kill(signal)
    child.kill(signal)
    await end
    // A run this short may be too short for a verdict.
    assert.ok(child.exitCode === 0 || child.exitCode === 3, `${child.exitCode} ${child.signalCode}: ${err}`)
    assert.match(out, /^(OK|UNDECIDED): [^]*; namespace verify-[^]*objects are linearizable/)
    assert.match(err, /^interrupted: ending the traffic/m)
    assert.deepEqual(await made(), [true], 'its namespace is deleted')
  })
}
