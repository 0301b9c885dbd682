/*
 * Goal: whatever the file system refuses while keys are written is one error that names the file
 * and the remedy, and leaves the earlier files and no temporary ones; a renewal goes on.
 * Method: calls of the file system that fail as on a full or a read-only disk.
 */
import assert from 'node:assert/strict'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Registry } from 'prom-client'
import { SeededRandom } from '../../../../base/random.ts'
import { registerCertificateMetrics } from '../../../../src/metrics/certificate-metrics.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../../../src/pki/cluster-pki.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import type { PkiErrorCode } from '../../../../src/pki/errors.ts'
import {
  removeFile,
  replaceFile,
  replaceTogether,
  writeNewFile,
  writeNewPair,
} from '../../../../src/pki/files.ts'
import { CertificateRenewal } from '../../../../src/pki/renewal/certificate-renewal.ts'
import { lockForRotation } from '../../../../src/pki/renewal/directory-lock.ts'
import { fit } from '../../../../src/pki/renewal/pair-files.ts'
import { placesIn } from '../../../../src/pki/renewal/renewable-pairs.ts'
import { whileFailing } from '../../../support/fakes/failing-files.ts'
import type { FileFailure } from '../../../support/fakes/failing-files.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const dayMs = 24 * 60 * 60 * 1000

function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'orch-failing-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}

function failsWith(code: PkiErrorCode, words: RegExp, action: () => unknown): void {
  assert.throws(action, (cause) => {
    assert.ok(cause instanceof PkiError, String(cause))
    assert.equal(cause.code, code)
    assert.match(cause.message, words)
    return true
  })
}

/** Failures of each call that writes a file. */
const failures: readonly (FileFailure & { readonly remedy: RegExp })[] = [
  { method: 'openSync', code: 'EACCES', remedy: /give this process access to it/ },
  { method: 'openSync', code: 'EMFILE', remedy: /raise the limit of open files/ },
  { method: 'writeFileSync', code: 'ENOSPC', remedy: /free space on its disk/ },
  { method: 'writeFileSync', code: 'EDQUOT', remedy: /raise the quota/ },
  { method: 'fsyncSync', code: 'EIO', remedy: /check the disk/ },
  { method: 'renameSync', code: 'EROFS', remedy: /read-only/ },
  { method: 'renameSync', code: 'EXDEV', remedy: /mount its whole directory/ },
  { method: 'renameSync', code: 'EBUSY', remedy: /mount its whole directory/ },
]

for (const { remedy, ...failure } of failures) {
  const what = `${failure.code} of ${failure.method}`
  void test(`${what} is an error with a remedy, and leaves the earlier files and no others`, (t) => {
    const directory = scratch(t)
    const [key, certificate] = [join(directory, 'a.key'), join(directory, 'a.crt')]
    const files = [key, certificate].map((path) => ({ path, text: 'next', secrecy: 'secret' as const }))
    for (const { path } of files) writeFileSync(path, 'present')
    const words = new RegExp(`a\\.key.*\\(${failure.code}\\): .*${remedy.source}`)
    whileFailing(t, failure, () => {
      failsWith('unusable', words, () => replaceFile(key, 'next', 'secret'))
      failsWith('unusable', words, () => replaceTogether(files))
    })
    assert.deepEqual(readdirSync(directory).sort(), ['a.crt', 'a.key'])
    for (const { path } of files) assert.equal(read(path), 'present')
    replaceTogether(files)
    for (const { path } of files) assert.equal(read(path), 'next')
  })
}

void test('a pair of which only one file can be prepared is not replaced', (t) => {
  const directory = scratch(t)
  const files = ['a.key', 'a.crt'].map((name) => {
    return { path: join(directory, name), text: 'next', secrecy: 'public' as const }
  })
  for (const { path } of files) writeFileSync(path, 'present')
  whileFailing(t, { method: 'writeFileSync', code: 'ENOSPC', after: 1 }, () =>
    failsWith('unusable', /a\.crt cannot be written \(ENOSPC\)/, () => replaceTogether(files)),
  )
  assert.deepEqual(readdirSync(directory).sort(), ['a.crt', 'a.key'])
  for (const { path } of files) assert.equal(read(path), 'present')
})

void test('a new file that cannot be put in place is an error, and leaves no temporary file', (t) => {
  const directory = scratch(t)
  const path = join(directory, 'a.key')
  for (const code of ['EPERM', 'EROFS', 'EXDEV']) {
    whileFailing(t, { method: 'linkSync', code }, () =>
      failsWith('unusable', new RegExp(`a\\.key cannot be made \\(${code}\\): `), () =>
        writeNewFile(path, 'x', 'secret'),
      ),
    )
    assert.deepEqual(readdirSync(directory), [])
  }
  // The directory is the second file that is opened.
  whileFailing(t, { method: 'openSync', code: 'EMFILE', after: 1 }, () =>
    failsWith('unusable', /.* \(EMFILE\): /, () => writeNewFile(path, 'x', 'secret')),
  )
})

void test('both files of a new pair are in place when their directory is synced', (t) => {
  const directory = scratch(t)
  const key = { path: join(directory, 'a.key'), text: 'k', secrecy: 'secret' } as const
  const certificate = { path: join(directory, 'a.crt'), text: 'c', secrecy: 'public' } as const
  // The directory is synced third, after both files.
  whileFailing(t, { method: 'fsyncSync', code: 'EIO', after: 2 }, () =>
    failsWith('unusable', /directory .* cannot be synced \(EIO\)/, () => writeNewPair([key, certificate])),
  )
  assert.deepEqual(readdirSync(directory).sort(), ['a.crt', 'a.key'])
})

void test('a dangling link in the place of a new file is reported as existing', (t) => {
  const path = join(scratch(t), 'a.key')
  symlinkSync('nowhere', path)
  failsWith('exists', /a\.key already exists/, () => writeNewFile(path, 'x', 'secret'))
})

void test('a directory in the place of a file is an error, and no temporary file is left', (t) => {
  const directory = scratch(t)
  const path = join(directory, 'a.key')
  mkdirSync(path)
  failsWith('unusable', /a\.key cannot be replaced \(EISDIR\): /, () => replaceFile(path, 'x', 'secret'))
  failsWith('unusable', /a\.key cannot be removed/, () => removeFile(path))
  assert.deepEqual(readdirSync(directory), ['a.key'])
})

void test('a lock that cannot be removed is no error, and the same process takes it again', (t) => {
  const directory = scratch(t)
  const self = { pid: 100, isAlive: () => true }
  const unlock = lockForRotation(directory, self)
  whileFailing(t, { method: 'rmSync', code: 'EROFS' }, unlock)
  assert.deepEqual(readdirSync(directory), ['rotation.lock'])
  lockForRotation(directory, self)()
  assert.deepEqual(readdirSync(directory), [])
  whileFailing(t, { method: 'openSync', code: 'EIO', after: 1 }, () =>
    failsWith('unusable', /\(EIO\)/, () => lockForRotation(directory, self)),
  )
  assert.deepEqual(readdirSync(directory), [])
})

type Renewing = {
  readonly directory: string
  readonly clock: ManualClock
  readonly renewal: CertificateRenewal
  readonly warnings: string[]
  readonly renewed: string[]
  readonly usable: () => void
}

/** Returns a renewal whose pairs are all due. */
function renewing(t: TestContext): Renewing {
  const directory = scratch(t)
  const clock = new ManualClock()
  ensureClusterPki({
    ...{ directory, kubeconfigPath: join(directory, 'admin.kubeconfig') },
    ...{ clock, random: new SeededRandom(1) },
    members: [{ name: 'n1', hosts: ['10.0.0.1'], serverUrl: 'https://10.0.0.1:6443' }],
  })
  const [warnings, renewed]: [string[], string[]] = [[], []]
  const log = {
    info: ({ use }: { use?: string }) => void (use === undefined ? 0 : renewed.push(use)),
    warn: ({ cause }: { cause: string }) => void warnings.push(cause),
  }
  const places = placesIn(directory, ['n1'])
  const renewal = new CertificateRenewal({
    ...{ places, clock, random: new SeededRandom(7), log: log as never },
    self: { pid: 100, isAlive: () => true },
  })
  t.after(() => renewal.close())
  clock.jumpWall(300 * dayMs)
  const usable = (): void => {
    for (const { paths } of places.pairs) assert.ok(fit(read(paths.certificate), read(paths.key)))
    const left = readdirSync(directory, { recursive: true }).map(String)
    assert.deepEqual(
      left.filter((name) => /\.new|\.lock/.test(name)),
      [],
    )
  }
  return { directory, clock, renewal, warnings, renewed, usable }
}

const renewalFailures: readonly FileFailure[] = [
  { method: 'writeFileSync', code: 'ENOSPC' },
  { method: 'fsyncSync', code: 'EIO' },
  { method: 'renameSync', code: 'EROFS' },
  { method: 'linkSync', code: 'EPERM' },
  { method: 'lstatSync', code: 'EACCES' },
]

for (const failure of renewalFailures) {
  const what = `${failure.code} of ${failure.method}`
  void test(`a renewal survives ${what}, reports it once, and succeeds when the cause is gone`, (t) => {
    const { renewal, warnings, renewed, usable } = renewing(t)
    whileFailing(t, failure, () => {
      renewal.check()
      const lines = warnings.length
      const kinds = [...renewal.check().values()].map(({ kind }) => kind)
      assert.deepEqual(kinds, ['impossible', 'impossible', 'impossible'])
      assert.equal(warnings.length, lines, 'each failure is logged once')
    })
    assert.match(warnings.join('\n'), new RegExp(`members.n1.*\\(${failure.code}\\): `))
    assert.ok(renewal.failures >= 6)
    usable()
    const before = renewal.failures
    renewal.check()
    assert.deepEqual(renewed, ['admin', 'server', 'peer'])
    assert.equal(renewal.failures, before)
    usable()
  })
}

void test('a rename that fails between the two files of a pair leaves a pair that the next check completes', (t) => {
  const { directory, renewal, renewed, usable } = renewing(t)
  const { certificate } = clusterPkiPaths(directory).server('n1')
  whileFailing(t, { method: 'renameSync', code: 'EIO', path: /server\.crt\.new$/ }, () => renewal.check())
  const next = read(`${certificate}.new`)
  renewal.check()
  assert.equal(read(certificate), next, 'the prepared certificate, and not another one')
  assert.deepEqual(renewed, ['admin', 'peer'])
  usable()
})

void test('failed renewals are counted in a metric', async (t) => {
  const { renewal } = renewing(t)
  const metrics = new Registry()
  registerCertificateMetrics(
    metrics,
    () => [],
    () => renewal.failures,
  )
  const failure = { method: 'renameSync', code: 'EROFS', path: /server\.key\.new$/ } as const
  whileFailing(t, failure, () => [renewal.check(), renewal.check()])
  assert.match(await metrics.metrics(), /^orch_certificate_renewal_failures_total 2$/m)
})

void test('a kubeconfig that cannot be updated is reported again when it fails after a success', (t) => {
  const { clock, renewal, warnings } = renewing(t)
  const failure: FileFailure = { method: 'renameSync', code: 'EROFS', path: /kubeconfig\.new$/ }
  for (let time = 1; time <= 2; time++) {
    whileFailing(t, failure, () => renewal.check())
    assert.equal(warnings.filter((one) => /kubeconfig cannot be replaced \(EROFS\)/.test(one)).length, time)
    renewal.check()
    clock.jumpWall(300 * dayMs)
  }
})
