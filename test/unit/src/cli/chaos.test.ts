/*
 * Goal: the same options print the same plan, invalid ones are rejected in one line, and only
 * clusters started with `--chaos` have proxies.
 * Method: the command line in this process; nothing is started.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { parse } from 'yaml'
import type { Fault } from '../../../../tools/chaos/fault.ts'
import { prepareCluster } from '../../../../src/cli/local-cluster.ts'
import { RealClock } from '../../../../src/host/clock.ts'
import { RealRandom } from '../../../../src/host/random.ts'
import { orchctl } from '../../../support/drivers/orchctl.ts'

const terminal = {
  ...{ print: () => undefined, note: () => undefined },
  ...{ clock: new RealClock(), random: new RealRandom(), program: 'orchctl' },
}
const options = { nodes: 3, domain: null, clientPort: 20_000, peerPort: 21_000 } as const

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'orchctl-'))
  t.after(() => rmSync(made, { recursive: true }))
  return made
}

void test('a plan is a table, or JSON, the same for the same seed, and a table is followed by the command that runs it', async (t) => {
  const dir = directory(t)
  const flags = ['--dir', dir, '--seed', '7', '--duration', '1m', '--faults', 'kill,cut']
  const table = await orchctl('chaos', 'plan', ...flags)
  assert.equal(table.code, 0, table.err)
  assert.match(table.out, /^AT +FOR +LANE +TARGET +FAULT\n\d+\.\d s/)
  assert.equal(table.err, `run it: orchctl chaos run --seed 7 --duration 1m --faults kill,cut --dir ${dir}`)
  assert.equal((await orchctl('chaos', 'plan', ...flags)).out, table.out)
  const json = await orchctl('chaos', 'plan', ...flags, '-o', 'json')
  const { faults, members } = JSON.parse(json.out) as { faults: readonly Fault[]; members: readonly string[] }
  assert.deepEqual(members, ['n1', 'n2', 'n3'])
  assert.equal(faults.length, table.out.split('\n').length - 1)
})

void test('a plan is made for the members of the cluster, unless an option names others', async (t) => {
  const dir = directory(t)
  prepareCluster(terminal, { ...options, nodes: 5, directory: dir })
  const members = async (...flags: readonly string[]): Promise<unknown> => {
    const { out, err } = await orchctl('chaos', 'plan', '--dir', dir, '-o', 'json', ...flags)
    assert.equal(err, '')
    return (JSON.parse(out) as { members: readonly string[] }).members.length
  }
  assert.deepEqual([await members(), await members('--nodes', '7')], [5, 7])
})

void test('an invalid option is one line and exit code 2, an impossible one is one line and exit code 1', async (t) => {
  const dir = directory(t)
  for (const [flags, words, code] of [
    [['plan', '--faults', 'kill,flood'], /there is no fault "flood": there are kill, pause/, 2],
    [['plan', '--duration', '5'], /It must be a duration from 4s to 24h/, 2],
    [['plan', '--seed', '-1'], /It must be a whole number from 0/, 2],
    [['plan', '--nodes', '1', '--faults', 'cut'], /cut: needs at least 3 members, the cluster has 1/, 1],
    [['plan', '--duration', '2s'], /It must be a duration from 4s to 24h/, 2],
    [
      ['plan', '--duration', '4s', '--seed', '1', '--faults', 'slow-link'],
      /no fault fits into 4 s with seed 1: 14 s are enough for every seed/,
      1,
    ],
    [
      ['run', '--dir', dir],
      /there is no cluster in .*: give --dir that of another one, or make one there: orchctl cluster up/,
      1,
    ],
    [
      ['links', '--dir', dir],
      /cannot read .*links\.json: create the cluster with orchctl cluster up --chaos/,
      1,
    ],
  ] as const) {
    const reported = await orchctl('chaos', ...flags)
    assert.equal(reported.code, code, reported.err)
    assert.match(reported.err, words)
    assert.doesNotMatch(reported.err, /\n/)
  }
})

void test('peers of a cluster started with --chaos connect through proxies', (t) => {
  const dir = directory(t)
  const { members } = prepareCluster(terminal, { ...options, directory: dir, chaos: true })
  const seats = JSON.parse(readFileSync(join(dir, 'links.json'), 'utf8')) as readonly unknown[]
  assert.deepEqual(seats[2], { name: 'n3', dialed: 21_002, listens: 21_005 })
  const config = parse(readFileSync(members[2]?.configPath ?? '', 'utf8')) as Record<string, unknown>
  assert.equal(config['peer-address'], '127.0.0.1:21005')
  assert.deepEqual((config['initial-members'] as readonly unknown[])[2], {
    ...{ name: 'n3', 'peer-address': '127.0.0.1:21002', 'client-address': '127.0.0.1:20002' },
  })
  // A second call, without the option, changes nothing.
  prepareCluster(terminal, { ...options, directory: dir })
  const near = { ...options, clientPort: 21_004, directory: join(dir, 'near') }
  assert.throws(
    () => prepareCluster(terminal, { ...near, chaos: true }),
    /3 members need 6 from the lower one on/,
  )
  prepareCluster(terminal, near)
  assert.throws(() => prepareCluster(terminal, { ...near, chaos: true }), /was made without --chaos/)
})
