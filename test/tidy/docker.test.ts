/*
 * Goal: the Dockerfile and the compose file are sound, and fit the server and each other.
 * Method: both are parsed and checked by rules; the configuration is loaded as the server does it.
 * With ORCH_TEST_DOCKER=1 and a Docker daemon, `e2e/docker` builds and runs them.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { programVersion } from '../../src/version.ts'
import { root } from './markdown.ts'

const folder = join(root, 'packaging/docker')
const read = (file: string): string => readFileSync(join(folder, file), 'utf8')

type Instruction = { readonly word: string; readonly rest: string }

/** Joins continued lines and leaves out comments. */
function instructionsOf(text: string): readonly Instruction[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
  return lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [word = '', ...rest] = line.split(' ')
      return { word, rest: rest.join(' ').trim() }
    })
}

const known = new Set(
  'FROM COPY RUN ENV USER WORKDIR VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' '),
)

/** Returns what is wrong with a Dockerfile. */
function findingsOf(text: string): readonly string[] {
  const all = instructionsOf(text)
  const lastFrom = all.map(({ word }) => word).lastIndexOf('FROM')
  const final = all.slice(lastFrom)
  const one = (word: string): string => {
    const found = final.filter((other) => other.word === word)
    return found.length === 1 ? (found[0]?.rest ?? '') : ''
  }
  const isExecForm = (rest: string): boolean => /^\[.*\]$/.test(rest)
  const checks: readonly (readonly [boolean, string])[] = [
    [all.every(({ word }) => known.has(word)), 'an instruction that is not expected (ADD: use COPY)'],
    [
      all
        .filter(({ word }) => word === 'FROM')
        .every(({ rest }) => /^\S+:(?!latest)\S+( AS \w+)?$/.test(rest)),
      'an image without a version',
    ],
    [/^[1-9]\d*:[1-9]\d*$/.test(one('USER')), 'the user is not one number other than 0'],
    [one('STOPSIGNAL') === 'SIGTERM', 'the stop signal'],
    [isExecForm(one('ENTRYPOINT')) && isExecForm(one('CMD')), 'a shell would get the signals'],
    [/ CMD \[.*\]$/.test(one('HEALTHCHECK')), 'no health check without a shell'],
    [
      final.findIndex(({ word }) => word === 'USER') > final.map(({ word }) => word).lastIndexOf('RUN'),
      'a RUN without root',
    ],
    [
      all
        .filter(({ word }) => word === 'RUN')
        .every(({ rest }) => !/\b(sudo|curl|wget|apt-get)\b/.test(rest)),
      'a download or a package outside of the base image',
    ],
  ]
  return checks.filter(([holds]) => !holds).map(([, finding]) => finding)
}

const dockerfile = read('Dockerfile')
const final = instructionsOf(dockerfile)
const restOf = (word: string): string => final.findLast((other) => other.word === word)?.rest ?? ''
const listOf = (word: string): readonly string[] => JSON.parse(restOf(word)) as string[]

/** The configuration of one member, as the server loads it in its container. */
function configOf(args: readonly string[]): Config {
  const readFile = (path: string): string => read(path.replace('/etc/orch/', ''))
  const loaded = loadConfig({ args, readFile })
  assert.ok(loaded.kind === 'config')
  return loaded.config
}

type Service = {
  readonly image: string
  readonly command: readonly string[]
  readonly ports: readonly string[]
  readonly volumes: readonly string[]
}
const compose = parse(read('compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}

void test('the Dockerfile has no findings', () => {
  assert.deepEqual(findingsOf(dockerfile), [])
})

const mistakes: readonly (readonly [string, RegExp, string, string])[] = [
  ['root', /USER .*/, 'USER root', 'the user is not one number other than 0'],
  ['an open version', /node:22-bookworm-slim\n/, 'node:latest\n', 'an image without a version'],
  ['a shell as PID 1', /ENTRYPOINT .*/, 'ENTRYPOINT orch-apiserver', 'a shell would get the signals'],
  ['ADD', /COPY healthcheck/, 'ADD healthcheck', 'an instruction that is not expected (ADD: use COPY)'],
  ['another signal', /STOPSIGNAL .*/, 'STOPSIGNAL SIGKILL', 'the stop signal'],
]
for (const [what, from, to, finding] of mistakes) {
  void test(`the rules for the Dockerfile find ${what}`, () => {
    assert.match(dockerfile, from)
    assert.deepEqual(findingsOf(dockerfile.replace(from, to)), [finding])
  })
}

void test('the Dockerfile copies files that exist', () => {
  const copied = instructionsOf(dockerfile)
    .filter(({ word, rest }) => word === 'COPY' && !rest.startsWith('--from'))
    .map(({ rest }) => rest.split(' ')[0] ?? '')
  assert.deepEqual(copied, ['orch-apiserver-*.tgz', 'healthcheck.mjs'])
  assert.ok(existsSync(join(folder, 'healthcheck.mjs')))
})

void test('the image runs the server with flags that it takes, on its volume and ports', () => {
  const config = configOf(listOf('CMD').concat('--name', 'n1'))
  assert.deepEqual(listOf('VOLUME'), [config['data-dir']])
  assert.equal(restOf('WORKDIR'), config['data-dir'])
  const peerPort = config['initial-members'][0]?.peerAddress.split(':').at(-1)
  assert.equal(restOf('EXPOSE'), `${config['secure-port']} ${peerPort ?? ''}`)
  assert.ok(restOf('HEALTHCHECK').endsWith(`"${config['secure-port']}"]`))
})

void test('the compose file starts the members of the founding list, each with its own keys and data', () => {
  const names = Object.keys(compose.services)
  assert.deepEqual(names, ['n1', 'n2', 'n3'])
  assert.deepEqual(Object.keys(compose.volumes), names)
  const published = new Set<string>()
  for (const [name, service] of Object.entries(compose.services)) {
    const config = configOf(service.command)
    assert.equal(config.name, name)
    assert.deepEqual(
      config['initial-members'].map((member) => member.name),
      names,
    )
    assert.equal(service.image, `orch-apiserver:${programVersion}`)
    const mounted = new Map(service.volumes.map((volume) => [volume.split(':')[1] ?? '', volume.split(':')]))
    assert.deepEqual(mounted.get(config['data-dir']), [name, config['data-dir']])
    assert.deepEqual(mounted.get('/etc/orch/keys'), [`./pki/members/${name}`, '/etc/orch/keys', 'ro'])
    for (const key of ['tls-cert-file', 'client-ca-file', 'peer-cert-file', 'peer-ca-file'] as const) {
      const path = String(config[key])
      assert.ok(
        [...mounted.keys()].some((at) => path === at || path.startsWith(`${at}/`)),
        path,
      )
    }
    for (const port of service.ports) {
      const [host, outside = '', inside] = port.split(':')
      assert.equal(host, '127.0.0.1')
      assert.equal(inside, String(config['secure-port']))
      published.add(outside)
    }
  }
  assert.equal(published.size, names.length)
})
