/*
 * Goal: a command line is executed or rejected with an explanation, and exit codes keep their
 * meaning.
 * Method: the whole command line in this process, on temporary directories; nothing is started.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { cli } from '../../../../src/cli/cli.ts'
import { CliError } from '../../../../src/cli/errors.ts'
import { prepareCluster } from '../../../../src/cli/local-cluster.ts'
import { readEndpoints } from '../../../../src/cli/member-client.ts'
import { parsePkiMembers } from '../../../../src/cli/pki-init.ts'
import { forgetProcess, processState, signalProcess } from '../../../../src/cli/process.ts'
import { formatTable } from '../../../../src/cli/terminal.ts'
import type { Terminal } from '../../../../src/cli/terminal.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { RealClock } from '../../../../src/host/clock.ts'
import { RealRandom } from '../../../../src/host/random.ts'

type Recorded = Terminal & { readonly printed: string[]; readonly noted: string[] }

function terminal(): Recorded {
  const [printed, noted]: [string[], string[]] = [[], []]
  return {
    ...{ printed, noted, clock: new RealClock(), random: new RealRandom(), program: 'orchctl' },
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
  }
}

async function inDirectory(body: (directory: string) => Promise<void> | void): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-'))
  try {
    await body(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const options = { nodes: 3, domain: 'k8s.io', clientPort: 16_443, peerPort: 17_443 } as const

void test('help ends with 0 and lists the exit codes; an invalid command line ends with 2', async () => {
  const reported = terminal()
  assert.equal(await cli(['--help'], reported), 0)
  assert.match(
    reported.printed.join('\n'),
    /Exit codes: 0 done, 1 failed, 2 not understood, 3 undecided \(verify only\)\./,
  )
  const wrong: readonly (readonly string[])[] = [
    [],
    ['cluster'],
    ['clustre', 'up'],
    ['cluster', 'up', '--nodes', '0'],
    ['cluster', 'up', '--domain', 'example.com'],
    ['member', 'list', '-o', 'xml'],
    ['pki', 'init'],
    ['pki', 'init', '--dir', 'x', '--members', 'n1'],
  ]
  for (const args of wrong) assert.equal(await cli(args, terminal()), 2, args.join(' '))
  const close = terminal()
  await cli(['clustre', 'up'], close)
  assert.match(close.noted.join('\n'), /Did you mean cluster/)
})

void test('a usage error names orchctl, and the nearest command or option, or the missing option', async () => {
  for (const [args, given] of [
    [['member', 'lst'], /^orchctl: unknown command 'lst'\n\(Did you mean list\?\)$/],
    [
      ['member', 'list', '--kubeconfg', 'x'],
      /^orchctl: unknown option '--kubeconfg'\n\(Did you mean --kubeconfig\?\)$/,
    ],
    [['pki', 'init'], /^orchctl: required option '--dir <dir>' not specified$/],
  ] as const) {
    const reported = terminal()
    assert.equal(await cli(args, reported), 2)
    assert.match(reported.noted.join('\n'), given)
  }
})

void test('a missing cluster or kubeconfig fails with one line and exit code 1', async () => {
  await inDirectory(async (directory) => {
    const reported = terminal()
    for (const verb of ['status', 'down'])
      assert.equal(await cli(['cluster', verb, '--dir', directory], reported), 1)
    const path = join(directory, 'none')
    assert.equal(await cli(['member', 'list', '--kubeconfig', path], reported), 1)
    assert.match(
      reported.noted[0] ?? '',
      /^orchctl: there is no cluster in .+: give --dir that of another one, or make one there: orchctl cluster up --dir .+$/,
    )
    assert.match(
      reported.noted[2] ?? '',
      /^orchctl: [^ ]*none cannot be read \(ENOENT\): .* \(--kubeconfig; orchctl cluster up makes one\)$/,
    )
  })
})

void test('pki init creates keys once and reports to scripts what it created', async () => {
  await inDirectory(async (directory) => {
    const args = [
      'pki',
      'init',
      '--dir',
      directory,
      '--members',
      'n1=10.0.0.1+one.example:7000',
      '-o',
      'json',
    ]
    const [first, second] = [terminal(), terminal()]
    assert.equal(await cli(args, first), 0)
    assert.equal(await cli(args, second), 0)
    assert.ok((JSON.parse(first.printed.join('')) as { made: string[] }).made.length > 10)
    assert.deepEqual((JSON.parse(second.printed.join('')) as { made: string[] }).made, [])
    const [endpoint] = readEndpoints(join(directory, 'admin.kubeconfig'))
    assert.equal(endpoint?.url, 'https://10.0.0.1:7000')
    const { identity } = await endpoint.credentials.current()
    assert.match(identity?.key ?? '', /BEGIN PRIVATE KEY/)
  })
})

void test('an error of the file system is one clear line and exit code 1', async () => {
  await inDirectory(async (directory) => {
    const path = join(directory, 'file')
    writeFileSync(path, '')
    const reported = terminal()
    assert.equal(await cli(['pki', 'init', '--dir', path, '--members', 'n1=h'], reported), 1)
    assert.match(reported.noted.join('\n'), /^orchctl: directory .*file cannot be used .*give another path$/)
  })
})

void test('a lost configuration file is named, and the other members do not form a smaller cluster', async () => {
  await inDirectory(async (directory) => {
    const { members } = prepareCluster(terminal(), { ...options, directory })
    const lost = members[2]?.configPath ?? ''
    rmSync(lost)
    for (const verb of ['up', 'status']) {
      const reported = terminal()
      assert.equal(await cli(['cluster', verb, '--dir', directory], reported), 1)
      assert.match(
        reported.noted.join('\n'),
        /^orchctl: .*n3\/config\.yaml is missing, though n3 is a member: restore it/,
      )
    }
    // A running cluster can be stopped nevertheless.
    const reported = terminal()
    assert.equal(await cli(['cluster', 'down', '--dir', directory], reported), 0)
    assert.deepEqual(reported.printed, ['nothing was running'])
  })
})

void test('a path that is not a directory, and a list of kubeconfigs, are refused with one line', async () => {
  await inDirectory(async (directory) => {
    const file = join(directory, 'file')
    writeFileSync(file, '')
    for (const [verb, dir] of [
      ['up', file],
      ['up', join(file, 'under')],
      ['down', file],
      ['status', file],
    ] as const) {
      const reported = terminal()
      assert.equal(await cli(['cluster', verb, '--dir', dir], reported), 1)
      assert.match(
        reported.noted.join('\n'),
        /^orchctl: .*file.* \((ENOTDIR|EEXIST)\): .*give another .*$/,
        verb,
      )
    }
    const reported = terminal()
    assert.equal(await cli(['member', 'list', '--kubeconfig', '/a/one:/b/two'], reported), 2)
    assert.match(reported.noted.join('\n'), /^orchctl: \/a\/one:\/b\/two names several files: give the one/)
  })
})

void test('pki init parses members with hosts, ports and IPv6, and rejects malformed ones', () => {
  assert.deepEqual(parsePkiMembers('n1=10.0.0.1, n2=[::1]+two.example:7000'), [
    { name: 'n1', hosts: ['10.0.0.1'], serverUrl: 'https://10.0.0.1:6443' },
    { name: 'n2', hosts: ['::1', 'two.example'], serverUrl: 'https://[::1]:7000' },
  ])
  for (const text of ['', 'n1', 'n1=', '=h', 'n1=a b', 'n1=h:0', 'n1=h:70000', 'n1=a,n1=b', 'n1=a++b']) {
    assert.throws(
      () => parsePkiMembers(text),
      (cause) => cause instanceof CliError && cause.code === 'usage',
      text,
    )
  }
})

void test('a new local cluster has configuration files that the server understands', async () => {
  await inDirectory((directory) => {
    const cluster = prepareCluster(terminal(), { ...options, directory: join(directory, 'c') })
    assert.deepEqual(
      cluster.members.map(({ name, clientPort }) => [name, clientPort]),
      [
        ['n1', 16_443],
        ['n2', 16_444],
        ['n3', 16_445],
      ],
    )
    for (const member of cluster.members) {
      const loaded = loadConfig({
        args: ['--config', member.configPath],
        readFile: (path) => readFileSync(path, 'utf8'),
      })
      assert.ok(loaded.kind === 'config')
      assert.equal(loaded.config.name, member.name)
      assert.equal(loaded.config['initial-members'].length, 3)
      for (const flag of ['tls-cert-file', 'client-ca-file', 'peer-ca-file', 'peer-key-file'] as const) {
        assert.ok(existsSync(loaded.config[flag]), flag)
      }
    }
  })
})

void test('a second preparation keeps edited files, and refuses to be another cluster', async () => {
  await inDirectory((directory) => {
    const [member] = prepareCluster(terminal(), { ...options, directory }).members
    assert.ok(member)
    const edited = `${readFileSync(member.configPath, 'utf8')}log-level: debug\n`
    writeFileSync(member.configPath, edited)
    prepareCluster(terminal(), { ...options, directory })
    assert.equal(readFileSync(member.configPath, 'utf8'), edited)
    const refused = (words: RegExp) => (cause: unknown) =>
      cause instanceof CliError && cause.code === 'failed' && words.test(cause.message)
    const other = { ...options, directory }
    assert.throws(() => prepareCluster(terminal(), { ...other, nodes: 1 }), refused(/a cluster of 3, not 1/))
    assert.throws(
      () => prepareCluster(terminal(), { ...other, domain: 'orch.io' }),
      refused(/"k8s\.io", not orch\.io/),
    )
  })
})

void test('a PID file that names an unrelated process is stale, and that process is left alone', async () => {
  await inDirectory((directory) => {
    const [member] = prepareCluster(terminal(), { ...options, directory, nodes: 1 }).members
    assert.ok(member)
    assert.deepEqual(processState(member), { kind: 'stopped' })
    for (const text of [String(process.pid), '1', 'x', '999999999']) {
      writeFileSync(member.pidPath, text)
      assert.deepEqual(processState(member), { kind: 'stale' }, text)
    }
    let received = 0
    const onSignal = (): void => void received++
    process.on('SIGTERM', onSignal)
    signalProcess(member, process.pid, 'SIGTERM')
    process.off('SIGTERM', onSignal)
    assert.equal(received, 0)
    forgetProcess(member)
    assert.deepEqual(processState(member), { kind: 'stopped' })
  })
})

void test('columns are as wide as their widest cell', () => {
  const rows = [
    ['A', 'LONG', 'C'],
    ['wide', 'x', ''],
  ]
  assert.deepEqual(formatTable(rows), ['A      LONG   C', 'wide   x'])
})

void test('the server understands the example configurations of one and of three nodes', () => {
  const directory = join(import.meta.dirname, '../../../../../cluster-config')
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const one = loadConfig({ args: ['--config', join(directory, 'one-node.yaml')], readFile })
  assert.ok(one.kind === 'config')
  assert.ok(one.config['data-dir'] !== '')
  const path = join(directory, 'three-nodes.yaml')
  const { 'initial-members': members } = parse(readFile(path)) as { 'initial-members': { name: string }[] }
  assert.equal(members.length, 3)
  for (const { name } of members) {
    const three = loadConfig({ args: ['--config', path, '--name', name], readFile })
    assert.ok(three.kind === 'config')
    assert.equal(three.config.name, name)
  }
})
