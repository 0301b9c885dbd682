/*
 * Goal: flags and files are parsed as documented, and invalid ones are refused in one line that
 * names their place. Method: command lines and files, table by table.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../../../../src/config/config.ts'
import { ConfigError } from '../../../../src/config/errors.ts'
import { durationMs, durationText, sizeBytes, sizeText } from '../../../../src/config/flag.ts'
import { helpText } from '../../../../src/config/help.ts'
import { flagNames, loadConfig } from '../../../../src/config/load.ts'
import { nearest } from '../../../../src/config/nearest.ts'
import { readTextFile } from '../../../../src/pki/files.ts'
import { featureLevelMax } from '../../../../src/version.ts'

function load(args: readonly string[], files: Readonly<Record<string, string>> = {}): Config {
  const loaded = loadConfig({
    args,
    readFile: (path) => files[path] ?? assert.fail(`ENOENT: no such file ${path}`),
  })
  if (loaded.kind !== 'config') return assert.fail('a configuration')
  return loaded.config
}

function refusal(args: readonly string[], files: Readonly<Record<string, string>> = {}): string {
  try {
    load(args, files)
  } catch (cause) {
    if (cause instanceof ConfigError) return cause.message
    throw cause
  }
  return assert.fail('it was accepted')
}

void test('flags are given with a space, with "=", or as a switch, and the last one counts', () => {
  const config = load([
    '--data-dir',
    '/a',
    '--data-dir=/b',
    '--http2=false',
    '--secure-port=7',
    '--request-timeout',
    '1m30s',
  ])
  assert.equal(config['data-dir'], '/b')
  assert.equal(config.http2, false)
  assert.equal(config['secure-port'], 7)
  assert.equal(config['request-timeout'], 90_000)
  assert.equal(load(['--in-memory'])['in-memory'], true)
  assert.equal(config['api-domain'], 'orch.io')
})

void test('the command line comes before the file, the file before the default', () => {
  const files = { 'f.yaml': 'data-dir: /file\nname: n2\nsecure-port: 1234\n' }
  const config = load(['--config', 'f.yaml', '--name=n3'], files)
  assert.deepEqual([config.name, config['data-dir'], config['secure-port']], ['n3', '/file', 1234])
})

void test('the members of a cluster are read the same from flags and from a file', () => {
  const files = {
    'f.yaml': [
      'data-dir: d',
      'name: a',
      'initial-members:',
      '  - {name: a, peer-address: "10.0.0.1:7443", client-address: "10.0.0.1:6443"}',
      '  - {name: b, peer-address: "[::1]:7443", client-address: "h:6443"}',
      'peer-cert-file: c\npeer-key-file: k\npeer-ca-file: a',
    ].join('\n'),
  }
  const words = [
    '--data-dir=d',
    '--name=a',
    '--initial-members=a=10.0.0.1:7443/10.0.0.1:6443,b=[::1]:7443/h:6443',
  ]
  const keys = ['--peer-cert-file=c', '--peer-key-file=k', '--peer-ca-file=a']
  const expected = [
    { name: 'a', peerAddress: '10.0.0.1:7443', clientAddress: '10.0.0.1:6443' },
    { name: 'b', peerAddress: '[::1]:7443', clientAddress: 'h:6443' },
  ]
  assert.deepEqual(load(['--config=f.yaml'], files)['initial-members'], expected)
  assert.deepEqual(load([...words, ...keys])['initial-members'], expected)
})

void test('every refusal is one line that names the flag, the value or the remedy', () => {
  const table: readonly (readonly [readonly string[], RegExp])[] = [
    [['--data-dri=x'], /--data-dri \(command line\).*--data-dir/],
    [['--etcd-servers=x'], /unknown flag --etcd-servers/],
    [['data'], /"data".*flags begin with --/],
    [['--data-dir'], /--data-dir needs a value/],
    [[], /--data-dir is needed, or --in-memory/],
    [['--in-memory', '--data-dir=x'], /omit --data-dir/],
    [['--in-memory', '--secure-port=http'], /--secure-port \(command line\) must be a whole number/],
    [['--in-memory', '--secure-port=65536'], /from 0 to 65535/],
    [['--in-memory', '--request-timeout=soon'], /duration such as/],
    [['--in-memory', '--api-domain=example.org'], /orch\.io, k8s\.io/],
    [['--in-memory', '--http2=maybe'], /true or false/],
    [['--in-memory', '--name=Not_a_label'], /--name .*lower-case/],
    [['--in-memory', '--peer-address=nowhere'], /host:port/],
    [['--in-memory', '--election-timeout=100ms'], /three times --heartbeat-interval/],
    [['--in-memory', '--tls-cert-file=x'], /--tls-cert-file and --tls-private-key-file go together/],
    [['--in-memory', '--client-ca-file=x'], /--client-ca-file needs --tls-cert-file and --tls-private-key/],
    [['--data-dir=d', '--client-ca-file=x'], /without them accepts its own authority only/],
    [['--in-memory', '--authorization-mode=RBAC,Maybe'], /"Maybe"/],
    [['--in-memory', '--initial-members=a=h:1/h:2'], /does not list this member/],
    [['--in-memory', '--initial-members=n1=h:1/h:2,n1=h:1/h:2'], /a name twice/],
    [['--in-memory', '--initial-members=n1=h:1/h:2,n2=h:1/h:2'], /several needs --data-dir/],
    [['--data-dir=d', '--initial-members=n1=h:1/h:2,n2=h:1/h:2'], /orchctl pki init/],
    [['--data-dir=d', '--join=nowhere'], /--join \(command line\) must be host:port/],
    [['--data-dir=d', '--join=h:1', '--initial-members=n1=h:1/h:2'], /omit one of them/],
    [['--in-memory', '--secure-port=0', '--advertise-address=h:1'], /address names one: give a fixed --s/],
    [
      ['--in-memory', '--secure-port=0', '--initial-members=n1=h:1/h:2'],
      /has a fixed one: give a fixed --secure-port/,
    ],
    [['--data-dir=d', '--secure-port=0', '--join=h:1'], /--join needs a fixed one: give a fixed/],
    [['--in-memory', '--join=h:1'], /--join needs --data-dir/],
    [['--data-dir=d', '--join=h:1', '--join-token=t', '--join-token-file=f'], /not both/],
    [['--data-dir=d', '--join=h:1'], /--join needs --peer-address/],
    [
      ['--data-dir=d', '--join=https://h:1/', '--peer-address=h:2'],
      /--peer-key-file: orchctl member add --pki/,
    ],
  ]
  for (const [args, expected] of table) {
    const message = refusal(args)
    assert.match(message, expected)
    assert.equal(message.includes('\n'), false, message)
  }
})

void test('a file is refused with its name', () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ['nmae: n1', /unknown flag nmae \(file f\): did you mean name\?/],
    ['- a', /must be a map/],
    ['a: [', /f cannot be read/],
    ['name: a\nname: b', /^[^\n]*: line 2, column 1: expected each flag once$/],
    ['name: {}', /name \(file f\)/],
    ['secure-port: http', /secure-port \(file f\) must be a whole number/],
    ['config: other', /cannot name another/],
    ['initial-members: [{name: a}]', /each member needs peer-address/],
    ['initial-members: [{name: a, role: b}]', /unknown member field role/],
    ['a: &x [1]\nb: *x', /f cannot be read/],
  ]
  for (const [text, expected] of table) {
    const message = refusal(['--config=f'], { f: text })
    assert.match(message, expected)
    assert.match(message, /\bf\b/)
  }
  assert.match(refusal(['--config=gone']), /^configuration file gone cannot be read: ENOENT/)
  assert.throws(() => loadConfig({ args: ['--config=no/gone'], readFile: readTextFile }), {
    message: 'configuration file no/gone cannot be read (ENOENT): it does not exist; give the right path',
  })
})

void test('durations are read and written', () => {
  for (const [given, ms] of [
    ['0', 0],
    ['1h', 3_600_000],
    ['1m30s', 90_000],
    ['250ms', 250],
    ['1.5s', 1500],
    ['', null],
    ['5', null],
    ['-1s', null],
    ['1d', null],
  ] as const) {
    assert.equal(durationMs(given), ms, given)
  }
  for (const [ms, given] of [
    [0, '0s'],
    [90_000, '90s'],
    [300_000, '5m'],
    [250, '250ms'],
  ] as const) {
    assert.equal(durationText(ms), given)
  }
})

void test('sizes are read and written', () => {
  for (const [given, bytes] of [
    ['0', 0],
    ['8Gi', 8 * 1024 ** 3],
    ['1.5Mi', 1_572_864],
    ['512KiB', 524_288],
    ['1000', 1000],
    ['', null],
    ['8G', null],
    ['-1', null],
    ['1.5', null],
    ['9999999Ti', null],
    ['Gi', null],
  ] as const) {
    assert.equal(sizeBytes(given), bytes, given)
  }
  for (const [bytes, given] of [
    [0, '0'],
    [8 * 1024 ** 3, '8Gi'],
    [1_572_864, '1536Ki'],
    [1000, '1000'],
  ] as const) {
    assert.equal(sizeText(bytes), given)
  }
})

void test('the quota and the feature level have bounds that a refusal names', () => {
  const memory = '--in-memory'
  assert.equal(load([memory])['initial-storage-quota'], 8 * 1024 ** 3)
  assert.equal(load([memory, '--initial-storage-quota=16Mi'])['initial-storage-quota'], 16 * 1024 ** 2)
  for (const given of ['1Mi', '17Ti', 'much']) {
    assert.equal(
      refusal([memory, `--initial-storage-quota=${given}`]),
      '--initial-storage-quota (command line) must be a size such as 8Gi or 500Mi, from 16Mi to 16Ti',
    )
  }
  assert.equal(load([memory])['feature-level-max'], featureLevelMax)
  assert.equal(load([memory, '--feature-level-max=1'])['feature-level-max'], 1)
  assert.match(refusal([memory, '--feature-level-max=0']), /must be a whole number from 1 to /)
  assert.match(refusal([memory, `--feature-level-max=${featureLevelMax + 1}`]), /must be a whole number/)
  assert.match(helpText(), /--initial-storage-quota size\n.*\(default 8Gi\)/)
})

void test('the nearest known word is suggested, and none when no word is close', () => {
  assert.equal(nearest('secure-prot', flagNames), 'secure-port')
  assert.equal(nearest('zzzzzzzz', flagNames), null)
})

void test('help names every flag', () => {
  const help = helpText()
  for (const name of flagNames) assert.ok(help.includes(`--${name}`), name)
  assert.equal(loadConfig({ args: ['--bad', '--help'], readFile: () => '' }).kind, 'help')
})
