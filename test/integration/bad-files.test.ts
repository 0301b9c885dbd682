/*
 * Goal: a member with an unusable file exits with one line that names the file and the remedy; it
 * leaves the directory unchanged and unlocked, and starts once the file is restored.
 * Method: one member of three with its real files, spoiled in one way at a time, started in this
 * process.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pino from 'pino'
import { CodedError } from '../../base/coded-error.ts'
import { startApp } from '../../src/app.ts'
import { claimDirectory, memberId } from '../../src/data-dir/member-identity.ts'
import { loadConfig } from '../../src/config/load.ts'
import { RealClock } from '../../src/host/clock.ts'
import { lockDirectory } from '../../src/host/directory-lock.ts'
import { RealRandom } from '../../src/host/random.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../src/pki/cluster-pki.ts'
import { readTextFile } from '../../src/pki/files.ts'
import { noOutput } from '../support/fakes/no-output.ts'
import { freePorts } from '../../fixtures/port-range.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-bad-files-'))
after(() => rmSync(scratch, { recursive: true, force: true }))
const [kept, data, keptPki, pki] = ['kept', 'data', 'kept-pki', 'pki'].map((name) => join(scratch, name)) as [
  string,
  string,
  string,
  string,
]
const paths = clusterPkiPaths(pki)
const configFile = join(scratch, 'config.yaml')

type Flags = Readonly<Record<string, string>>

const ports = await freePorts(2)
const flags: Flags = {
  name: 'n1',
  'data-dir': data,
  'bind-address': '127.0.0.1',
  'secure-port': String(ports[0]),
  'peer-address': `127.0.0.1:${ports[1]}`,
  'tls-cert-file': paths.server('n1').certificate,
  'tls-private-key-file': paths.server('n1').key,
  'client-ca-file': paths.ca.certificate,
  'peer-ca-file': paths.peerCa.certificate,
  'peer-cert-file': paths.peer('n1').certificate,
  'peer-key-file': paths.peer('n1').key,
  config: configFile,
}

/** @returns the line it was refused with; null when it ran, and was stopped again */
async function start(given: Flags): Promise<string | null> {
  const fatal: unknown[] = []
  try {
    const loaded = loadConfig({
      args: Object.entries(given).map(([flag, value]) => `--${flag}=${value}`),
      readFile: readTextFile,
    })
    if (loaded.kind !== 'config') return assert.fail('these are flags to run with')
    const host = {
      clock: new RealClock(),
      random: new RealRandom(),
      log: pino({ level: 'silent' }),
      output: noOutput,
      pid: process.pid,
    }
    const app = await startApp(loaded.config, { ...host, onFatal: (cause) => fatal.push(cause) })
    await app.stop()
    assert.deepEqual(fatal, [])
    return null
  } catch (cause) {
    assert.ok(cause instanceof CodedError, String(cause))
    assert.doesNotMatch(cause.message, /\n/)
    return cause.message
  }
}

/**
 * Returns the paths and contents of all files, except for those of locks and for the election
 * timeout of the last start, which is recorded before the log is opened.
 */
function fingerprints(directory: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (['pid', 'lock.sock', 'lease-promise'].includes(entry.name)) continue
    const bytes = entry.isFile() ? readFileSync(path) : ''
    found.set(path, entry.isFile() ? createHash('sha256').update(bytes).digest('hex') : 'no file')
  }
  return found
}

function restore(): void {
  for (const [from, to] of [
    [kept, data],
    [keptPki, pki],
  ] as const) {
    rmSync(to, { recursive: true, force: true })
    cpSync(from, to, { recursive: true, filter: (source) => !source.endsWith('.sock') })
  }
  replaced(configFile, (path) => writeFileSync(path, membersOf('n1', 'n2', 'n3')))
}

function membersOf(...names: readonly string[]): string {
  const lines = names.map(
    (name, at) =>
      `- { name: ${name}, peer-address: '127.0.0.1:${at === 0 ? ports[1] : at}', client-address: '127.0.0.1:${at + 1}' }`,
  )
  return `initial-members:\n${lines.join('\n')}\n`
}

void test('a member with intact files starts, and its files are copied for the other tests', async () => {
  const parts = { clock: new RealClock(), random: new RealRandom() }
  const members = ['n1', 'n2'].map((name) => ({
    name,
    hosts: ['127.0.0.1'],
    serverUrl: 'https://127.0.0.1:1',
  }))
  ensureClusterPki({ directory: pki, kubeconfigPath: join(scratch, 'admin.kubeconfig'), members, ...parts })
  replaced(configFile, (path) => writeFileSync(path, membersOf('n1', 'n2', 'n3')))
  assert.equal(await start(flags), null)
  assert.ok(existsSync(join(data, 'log', 'end')) && existsSync(join(data, 'member.json')))
  cpSync(pki, keptPki, { recursive: true })
  cpSync(data, kept, { recursive: true, filter: (source) => !source.endsWith('.sock') })
})

const segment = join('log', '000000000001.log')

function replaced(path: string, put: (path: string) => void): void {
  rmSync(path, { recursive: true, force: true })
  put(path)
}

const garbage = (path: string): void => writeFileSync(path, 'no such thing\n'.repeat(50))
const empty = (path: string): void => writeFileSync(path, '')
const emptyDirectory = (path: string): void => void mkdirSync(path)
const linkToItself = (path: string): void => symlinkSync(path, path)

function withKeysOf(member: string): Flags {
  const [server, peer] = [paths.server(member), paths.peer(member)]
  return {
    'tls-cert-file': server.certificate,
    'tls-private-key-file': server.key,
    'peer-cert-file': peer.certificate,
    'peer-key-file': peer.key,
  }
}

type Case = {
  readonly what: string
  readonly spoil?: () => void
  readonly flags?: Flags
  readonly line: RegExp
}

const remedy =
  /(: |; )(bring|restore|give|move|start|remove|use|choose|look|it may have|its links)| must |: expected /

const cases: readonly Case[] = [
  ...(
    [
      ['a directory', emptyDirectory, /EISDIR/],
      ['a link to itself', linkToItself, /ELOOP/],
      ['text', garbage, /is not a log segment/],
      ['empty', empty, /damaged at byte 0/],
    ] as const
  ).map(([how, put, line]): Case => ({
    what: `log segment: ${how}`,
    spoil: () => replaced(join(data, segment), put),
    line: new RegExp(`000000000001\\.log.*${line.source}|${line.source}.*000000000001\\.log`),
  })),
  { what: 'log directory: a file', spoil: () => replaced(join(data, 'log'), garbage), line: /data\/log/ },
  {
    what: 'log segment: gone',
    spoil: () => rmSync(join(data, segment)),
    line: /000000000001\.log/,
  },
  {
    what: 'log segment: truncated',
    // Within the written bytes: preallocated zeros follow them.
    spoil: () => truncateSync(join(data, segment), 512),
    line: /000000000001\.log is damaged at byte \d+/,
  },
  {
    what: 'member.json: empty',
    spoil: () => replaced(join(data, 'member.json'), empty),
    line: /member\.json is damaged/,
  },
  {
    what: 'member.json: a directory',
    spoil: () => replaced(join(data, 'member.json'), emptyDirectory),
    line: /member\.json .*it is not a file/,
  },
  {
    what: 'member.json: a link to itself',
    spoil: () => replaced(join(data, 'member.json'), linkToItself),
    line: /member\.json .*ELOOP/,
  },
  {
    what: 'peers.json: text',
    spoil: () => replaced(join(data, 'peers.json'), garbage),
    line: /peers\.json is damaged/,
  },
  {
    what: 'member.json: gone',
    spoil: () => rmSync(join(data, 'member.json')),
    line: /member\.json is missing/,
  },
  {
    what: 'data directory: a file',
    spoil: () => replaced(data, garbage),
    line: /directory .*data cannot be used/,
  },
  {
    what: 'data directory: a link to itself',
    spoil: () => replaced(data, linkToItself),
    line: /directory .*data cannot be used/,
  },
  { what: 'data directory: of another member', flags: { name: 'n2' }, line: /belongs to member n1, not n2/ },
  {
    what: 'data directory: of another cluster',
    flags: { 'cluster-name': 'other' },
    line: /belongs to cluster orch/,
  },
  {
    what: 'data directory: of another domain',
    flags: { 'api-domain': 'k8s.io' },
    line: /belongs to API domain orch\.io, not k8s\.io/,
  },
  {
    what: 'log: of another member, in a directory of its own',
    flags: { ...withKeysOf('n2'), name: 'n2' },
    spoil: () => {
      rmSync(data, { recursive: true })
      claimDirectory(data, {
        cluster: 'orch',
        member: 'n2',
        id: memberId('orch', 'n2'),
        apiDomain: 'orch.io',
      })
      cpSync(join(kept, 'log'), join(data, 'log'), { recursive: true })
    },
    line: /log 000000000001\.log is that of member \d+, this is member \d+/,
  },
  { what: 'database directory: a file', spoil: () => replaced(join(data, 'db'), garbage), line: /db/ },
  {
    what: 'configuration: a directory',
    spoil: () => replaced(configFile, emptyDirectory),
    line: /config\.yaml.*EISDIR/,
  },
  {
    what: 'configuration: a link to itself',
    spoil: () => replaced(configFile, linkToItself),
    line: /config\.yaml.*ELOOP/,
  },
  {
    what: 'configuration: endless',
    spoil: () => replaced(configFile, (path) => symlinkSync('/dev/zero', path)),
    line: /config\.yaml.*too large/,
  },
  {
    what: 'configuration: binary data',
    spoil: () => writeFileSync(configFile, Buffer.from([0, 1, 2, 255, 254])),
    line: /config\.yaml/,
  },
  {
    what: 'configuration: truncated',
    spoil: () => writeFileSync(configFile, membersOf('n1').slice(0, 40)),
    line: /config\.yaml/,
  },
  ...(
    [
      'tls-cert-file',
      'tls-private-key-file',
      'client-ca-file',
      'peer-ca-file',
      'peer-cert-file',
      'peer-key-file',
    ] as const
  ).flatMap((flag): Case[] => [
    ...(
      [
        ['empty', empty],
        ['text', garbage],
        ['a directory', emptyDirectory],
        ['a link to itself', linkToItself],
        ['gone', (): void => undefined],
        [
          'truncated',
          (path: string): void =>
            writeFileSync(path, readFileSync(path.replace(pki, keptPki)).subarray(0, 150)),
        ],
      ] as const
    ).map(([how, put]): Case => ({
      what: `${flag}: ${how}`,
      spoil: () => replaced(flags[flag] ?? '', put),
      line: new RegExp(`--${flag}.*${flags[flag] ?? ''}`),
    })),
  ]),
  {
    what: 'the key of another certificate',
    flags: { 'tls-private-key-file': paths.peer('n1').key },
    line: /--tls-private-key-file .* do not work together/,
  },
  {
    what: 'the peer certificate of another member',
    flags: { 'peer-cert-file': paths.peer('n2').certificate, 'peer-key-file': paths.peer('n2').key },
    line: /--peer-cert-file .* is the certificate of member n2, not n1: give --name n2, or the certificate of n1/,
  },
  {
    what: 'the authority of clients for that of peers',
    flags: { 'peer-ca-file': paths.ca.certificate },
    line: /--peer-cert-file .*n1.* was not issued by --peer-ca-file .*: give the authority/,
  },
]

for (const { what, spoil, flags: other, line } of cases) {
  void test(`a bad file stops the start: ${what}`, async () => {
    restore()
    spoil?.()
    const hadFolder = existsSync(join(data, 'log'))
    const before = hadFolder ? fingerprints(data) : null
    const stated = await start({ ...flags, ...other })
    assert.match(stated ?? 'it started', line)
    assert.match(stated ?? '', remedy)
    if (before === null) return
    assert.deepEqual(fingerprints(data), before, 'left as it was')
    const lock = await lockDirectory(data, process.pid)
    lock.release()
  })
}

void test('a member whose files are restored starts', async () => {
  restore()
  assert.equal(await start(flags), null)
})
