/*
 * Goal: one run creates every key of a cluster, the next run keeps them, and an incomplete set is
 * an error and not repaired.
 * Method: real files in a temporary directory.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import { SeededRandom } from '../../../../base/random.ts'
import { readCertificate } from '../../../../src/pki/certificate.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../../../src/pki/cluster-pki.ts'
import type { ClusterPkiReport, PkiMember } from '../../../../src/pki/cluster-pki.ts'
import { PkiError } from '../../../../src/pki/errors.ts'

const nowMs = Date.UTC(2030, 0, 1)

function member(name: string, ...hosts: readonly string[]): PkiMember {
  return { name, hosts, serverUrl: `https://${hosts[0] ?? '127.0.0.1'}:6443` }
}

function withPki(
  body: (
    run: (members: readonly PkiMember[], wallMs?: number) => ClusterPkiReport,
    directory: string,
    kubeconfig: string,
  ) => void,
): void {
  const root = mkdtempSync(join(tmpdir(), 'cluster-pki-'))
  const [directory, kubeconfigPath] = [join(root, 'pki'), join(root, 'admin.kubeconfig')]
  const random = new SeededRandom(3)
  try {
    body(
      (members, wallMs = nowMs) =>
        ensureClusterPki({ directory, kubeconfigPath, members, clock: { wallMs: () => wallMs }, random }),
      directory,
      kubeconfigPath,
    )
  } finally {
    rmSync(root, { recursive: true })
  }
}

const failure =
  (code: string, words: RegExp) =>
  (cause: unknown): boolean =>
    cause instanceof PkiError && cause.code === code && words.test(cause.message)

void test('keys are readable by their owner alone, and so is the kubeconfig that embeds one', () => {
  withPki((run, directory, kubeconfig) => {
    const { made, kept } = run([member('n1', '10.0.0.1', 'one.example')])
    assert.equal(kept.length, 0)
    const paths = clusterPkiPaths(directory)
    const keys = made.filter((path) => path.endsWith('.key'))
    assert.equal(keys.length, 6)
    for (const path of [...keys, kubeconfig]) assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(statSync(directory).mode & 0o777, 0o700)
    const server = readCertificate(readFileSync(paths.server('n1').certificate, 'utf8'))
    assert.deepEqual(server.names.ips, ['127.0.0.1', '::1', '10.0.0.1'])
    for (const name of ['localhost', 'one.example', 'orch.default.svc', 'kubernetes.default.svc']) {
      assert.ok(server.names.dns.includes(name), name)
    }
    const admin = readCertificate(readFileSync(paths.admin.certificate, 'utf8'))
    assert.deepEqual(admin.subject, { commonName: 'admin', organizations: ['system:masters'] })
    const peer = readCertificate(readFileSync(paths.peer('n1').certificate, 'utf8'))
    assert.deepEqual(peer.names.uris, ['orch://member/n1'])
    const peerCa = readCertificate(readFileSync(paths.peerCa.certificate, 'utf8'))
    assert.equal(peer.x509.verify(peerCa.publicKey), true)
    assert.equal(admin.x509.verify(peerCa.publicKey), false)
  })
})

void test('a second run keeps every file, and one with a new member adds only that member', () => {
  withPki((run, _directory, kubeconfig) => {
    const first = run([member('n1')])
    const second = run([member('n1')])
    assert.deepEqual(second.made, [])
    assert.deepEqual([...second.kept].sort(), [...first.made].sort())
    const third = run([member('n1'), member('n2')])
    assert.deepEqual(third.made.map((path) => path.split('/').slice(-2).join('/')).slice(0, 4), [
      'n2/server.key',
      'n2/server.crt',
      'n2/peer.key',
      'n2/peer.crt',
    ])
    const config = parse(readFileSync(kubeconfig, 'utf8')) as { contexts: { name: string }[] }
    assert.deepEqual(
      config.contexts.map(({ name }) => name),
      ['n1', 'n2'],
    )
  })
})

void test('a run for some members leaves the contexts of the others alone', () => {
  withPki((run, _directory, kubeconfig) => {
    run([member('n1'), member('n2', '10.0.0.2')])
    const before = readFileSync(kubeconfig, 'utf8')
    assert.deepEqual(run([member('n1')]).made, [])
    assert.equal(readFileSync(kubeconfig, 'utf8'), before)
  })
})

void test('the context a user chose stays chosen', () => {
  withPki((run, _directory, kubeconfig) => {
    run([member('n1'), member('n2')])
    const config = parse(readFileSync(kubeconfig, 'utf8')) as Record<string, unknown>
    writeFileSync(kubeconfig, stringify({ ...config, 'current-context': 'n2' }))
    run([member('n1'), member('n2')])
    run([member('n1'), member('n2'), member('n3')])
    const after = parse(readFileSync(kubeconfig, 'utf8')) as Record<string, unknown>
    assert.equal(after['current-context'], 'n2')
  })
})

void test('a pair of which one file is missing is named and nothing is made in its place', () => {
  withPki((run, directory) => {
    run([member('n1')])
    const { key } = clusterPkiPaths(directory).server('n1')
    rmSync(key)
    assert.throws(() => run([member('n1')]), failure('half-present', /server\.crt exists but .*server\.key/))
    assert.throws(() => statSync(key))
  })
})

void test('files that do not belong together, lack a name or expired are refused by name', () => {
  withPki((run, directory) => {
    run([member('n1'), member('n2')])
    const paths = clusterPkiPaths(directory)
    assert.throws(
      () => run([member('n1', 'new.example')]),
      failure('mismatched', /not valid for new\.example/),
    )
    const expired = failure('mismatched', /expired at 2031/)
    assert.throws(() => run([member('n1')], nowMs + 366 * 24 * 3600 * 1000), expired)
    writeFileSync(paths.server('n1').key, readFileSync(paths.server('n2').key))
    assert.throws(() => run([member('n1')]), failure('mismatched', /n1\/server\.crt belongs to another key/))
    writeFileSync(paths.server('n1').key, 'nonsense')
    assert.throws(() => run([member('n1')]), failure('malformed', /server\.key: not an unencrypted PEM/))
  })
})

void test('names that could escape their directory or their certificate are refused before anything is written', () => {
  withPki((run, directory) => {
    for (const name of ['../n1', 'N1', '', 'a b', 'n1/']) {
      assert.throws(() => run([member(name)]), failure('refused', /not a DNS label/))
    }
    assert.throws(() => run([member('n1', 'a,b')]), failure('refused', /neither a host name/))
    assert.throws(() => statSync(directory))
  })
})
