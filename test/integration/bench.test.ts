/*
 * Goal: the benchmark measures servers correctly, detects violated guarantees, removes its objects,
 * and without --yes refuses servers that are not of the local cluster.
 * Method: real servers in this process behind real sockets: the shipped one, and two that are
 * broken on purpose; the shipped command line, and its threads.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { quickSelection } from '../../bench/tool/plan.ts'
import { parseResults } from '../../bench/tool/report.ts'
import type { BenchReport } from '../../bench/tool/report.ts'
import { runBench } from '../../bench/tool/run.ts'
import type { Workload } from '../../bench/tool/load.ts'
import type { Sample } from '../../bench/tool/measures.ts'
import { MachineClock } from '../../src/host/machine-clock.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import type { Registry } from '../../src/registry/calls/verb.ts'
import { droppedEvent } from '../support/fakes/broken-registries.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { freePorts } from '../../fixtures/port-range.ts'
import { freshRandom } from '../../fixtures/system.ts'
import { verifiedServer, verifiedToken } from '../support/fixtures/verify-endpoint.ts'

const few = { ...quickSelection, clients: [2], lists: [10, 40], page: 15, watchers: [20] } as const

type MeasuredOptions = { readonly stopAt?: string | null; readonly watchers?: readonly number[] }

/** @param stopAt interrupts the run when a line of its progress has these words */
async function measured(
  endpoint: Endpoint,
  workloads: readonly Workload[],
  { stopAt = null, watchers = few.watchers }: MeasuredOptions = {},
): Promise<BenchReport> {
  const stop = new AbortController()
  const note = (line: string): void => {
    if (stopAt !== null && line.includes(stopAt)) stop.abort()
  }
  return runBench(
    {
      ...{
        endpoints: [endpoint],
        local: null,
        selection: { ...few, workloads, watchers },
        seconds: 1,
        rounds: 1,
      },
      ...{ threads: 2, commit: 'unknown', signal: stop.signal, note },
    },
    { clock: new MachineClock(), random: freshRandom() },
  )
}

/**
 * Returns the namespaces of a run that are not being deleted, with their objects. No controller
 * here completes the deletion of a namespace.
 */
async function leftOf({ url }: Endpoint): Promise<readonly string[]> {
  const namesAt = async (path: string): Promise<readonly string[]> => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${verifiedToken}` } })
    const { items } = (await response.json()) as {
      items: readonly { metadata: { name: string; deletionTimestamp?: string } }[]
    }
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name)
  }
  const namespaces = await namesAt('/api/v1/namespaces')
  return [...namespaces.filter((name) => name.startsWith('bench-')), ...(await namesAt('/api/v1/configmaps'))]
}

function sampleOf({ rows }: BenchReport, label: RegExp): Sample {
  const row = rows.find((one) => label.test(one.label))
  return row?.rounds[0] ?? assert.fail(`no row ${label} among ${rows.map((one) => one.label).join('; ')}`)
}

async function bench(...args: readonly string[]): ReturnType<typeof orchctl> {
  return orchctl('bench', ...args)
}

function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

void test('the command measures an unknown server, writes the requested files and leaves no objects', async (t) => {
  const endpoint = await verifiedServer(t)
  const directory = scratch(t)
  const [json, html] = [join(directory, 'a.json'), join(directory, 'a.html')]
  const against = ['--endpoint', endpoint.url, '--token', verifiedToken, '--yes', '--quick']
  const small = ['--clients', '3', '--lists', '40', '--page', '15', '--watchers', '20']
  const { code, out, err } = await bench(...against, ...small, '--json', json, '--html', html)
  assert.equal(code, 0, err)
  assert.match(err, /failover is not measured|\[1\/\d+\] livez, all members, 3 clients: rate \d/)
  assert.match(out, /\ncreate, all members, 1 KB, 3 clients /)
  assert.match(out, /note: failover is not measured: it needs a leader on this machine/)
  const { rows } = parseResults(readFileSync(json, 'utf8'), json)
  for (const [label, [sample]] of rows) {
    assert.equal(sample?.failed ?? 0, 0, `${label}: ${out}`)
    assert.ok((sample?.operations ?? sample?.delivered ?? 0) > 0, label)
    assert.equal(sample?.lost ?? 0, 0, label)
    assert.ok((sample?.staleMaxMs ?? 0) <= (sample?.boundMs ?? Infinity), label)
  }
  // Each list is complete, in pages too: only 40 objects have that size.
  for (const label of [
    'list 40, any, all members, 8 clients',
    'list 40 in pages of 15, any, all members, 8 clients',
  ]) {
    const sample = rows.get(label)?.[0] ?? assert.fail(label)
    const bytesEach = ((sample.megabytesPerSecond ?? 0) * 1e6) / (sample.perSecond ?? 1)
    assert.ok(bytesEach > 40_000 && bytesEach < 80_000, `${label}: ${bytesEach} bytes each`)
  }
  const page = readFileSync(html, 'utf8')
  assert.match(page, /<svg/)
  assert.doesNotMatch(page, /NaN|undefined/)
  assert.deepEqual(await leftOf(endpoint), [])
  const compared = await bench('--compare', json, json)
  assert.equal(compared.code, 0, compared.err)
  assert.match(compared.out, /create, all members, 1 KB, 3 clients +1\.00 +1\.00/)
})

void test('a server is measured over HTTP/2 and HTTP/1.1, paged lists included', async (t) => {
  const endpoint = await verifiedServer(t, undefined, true)
  const selection = {
    ...few,
    lists: [40],
    http: ['1.1', '2'],
    workloads: ['livez', 'get', 'update', 'patch', 'apply', 'list', 'watch'],
  } as const
  const report = await runBench(
    {
      ...{ endpoints: [endpoint], local: null, selection, seconds: 0.5, rounds: 1, threads: 2 },
      ...{ commit: 'unknown', signal: new AbortController().signal, note: () => undefined },
    },
    { clock: new MachineClock(), random: freshRandom() },
  )
  for (const { label, rounds, failures } of report.rows) {
    assert.deepEqual(failures, [], label)
    assert.ok((rounds[0]?.operations ?? rounds[0]?.delivered ?? 0) > 0, label)
  }
  const bytesEach = (label: string): number => {
    const sample = report.rows.find((row) => row.label === label)?.rounds[0] ?? assert.fail(label)
    return ((sample.megabytesPerSecond ?? 0) * 1e6) / (sample.perSecond ?? 1)
  }
  const list = 'list 40 in pages of 15, any, all members, 8 clients'
  assert.ok(
    Math.abs(bytesEach(`${list}, HTTP/2`) - bytesEach(list)) < 1,
    'both protocols return the same bytes',
  )
  assert.ok(report.rows.some(({ label }) => label === 'livez, all members, 2 clients, HTTP/2'))
})

void test('a server without HTTP/2 is measured over HTTP/1.1, and the results name the protocol', async (t) => {
  const endpoint = await verifiedServer(t)
  const against = ['--endpoint', endpoint.url, '--token', verifiedToken, '--yes', '--quick', '--clients', '2']
  const both = await bench(...against, '--only', 'livez', '--http', '1.1,2')
  assert.equal(both.code, 0, both.err)
  assert.match(both.out, /\nlivez, all members, 2 clients /)
  assert.match(both.out, /note: HTTP\/2 is not measured: .*: the server does not support HTTP\/2 here/)
  const only = await bench(...against, '--only', 'livez', '--http', '2')
  assert.equal(only.code, 1)
  assert.match(only.err, /orchctl: HTTP\/2 is not measured: /)
})

void test('events that a server omits are reported as lost', async (t) => {
  // With few watchers all of them probably receive the last event. If one does not, the run waits
  // for it until a timeout.
  const report = await measured(await verifiedServer(t, droppedEvent), ['watch'], { watchers: [2] })
  const { delivered, lost } = sampleOf(report, /^watch, 2 readers, /)
  assert.ok((lost ?? 0) > 0 && (lost ?? 0) < (delivered ?? 0), `${delivered} delivered, ${lost} lost`)
})

/** A registry in which every get of a ConfigMap returns the result of the first get of it. */
function oldReads(registry: Registry): Registry {
  const shown = new Map<string, Awaited<ReturnType<Registry['get']>>>()
  return {
    ...registry,
    get: async (request) => {
      const name = `${request.target.namespace}/${request.target.name}`
      const answer = shown.get(name) ?? (await registry.get(request))
      if (request.definition.plural === 'configmaps') shown.set(name, answer)
      return answer
    },
  }
}

void test('reads older than their bound are reported as stale', async (t) => {
  const report = await measured(await verifiedServer(t, oldReads), ['staleness'])
  const sample = sampleOf(report, /^staleness, linearizable/)
  assert.ok((sample.staleMaxMs ?? 0) > 0 && (sample.staleShare ?? 0) > 0, JSON.stringify(sample))
})

void test('an interrupted run reports its results and leaves no objects', async (t) => {
  const endpoint = await verifiedServer(t)
  const report = await measured(endpoint, ['get', 'create', 'list', 'watch'], { stopAt: '[2/' })
  assert.equal(report.rows.length, 2)
  assert.ok(report.notes.includes('interrupted in round 1 of 1'), report.notes.join('; '))
  assert.deepEqual(await leftOf(endpoint), [])
})

void test('impossible options, unreadable files and unreachable servers fail, and the last line of the error names the cause', async (t) => {
  const directory = scratch(t)
  const [none, port] = [join(directory, 'none'), (await freePorts(1))[0]]
  writeFileSync(none, '{}')
  const wrong: readonly (readonly [readonly string[], number, RegExp])[] = [
    [
      ['--endpoint', 'https://a'],
      2,
      /^orchctl: https:\/\/a: not a cluster of --dir; use --yes to run the load test anyway$/,
    ],
    [['--only', 'get,fly'], 2, /There is no workload "fly": there are livez, get, create, /],
    [['--clients', '0'], 2, /It must be a whole number from 1 to 4096\./],
    [['--clients', '1,many'], 2, /It must be a whole number from 1 to 4096\./],
    [['--http', '1.1,3'], 2, /It must be one of 1\.1, 2, or both\./],
    [['--seconds', '0'], 2, /It must be a whole number from 1 to 3600\./],
    [['--compare', none], 2, /^orchctl: --compare takes two files/],
    [
      ['--compare', none, none],
      2,
      /none is not a result of orchctl bench: its schema is not orchctl-bench\/1$/,
    ],
    [['--compare', none, join(directory, 'gone')], 2, /is not a result/],
    [
      ['--compare', join(directory, 'gone'), none],
      2,
      /^orchctl: cannot read .*gone \(ENOENT\): give files that --json wrote$/,
    ],
    [['--kubeconfig', join(directory, 'gone')], 1, /^orchctl: .*gone cannot be read \(ENOENT\)/],
    [['--endpoint', 'https://a', '--json', join(directory, 'no', 'file')], 1, /ENOENT/],
    [['--endpoint', `http://127.0.0.1:${port}`, '--yes'], 1, /no endpoint answers: connect ECONNREFUSED/],
  ]
  for (const [args, code, words] of wrong) {
    const ran = await bench(...args)
    assert.equal(ran.code, code, `${args.join(' ')}: ${ran.err}`)
    assert.match(ran.err.split('\n').at(-1) ?? '', words, args.join(' '))
    assert.equal(ran.out, '')
  }
})
