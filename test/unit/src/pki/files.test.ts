/*
 * Goal: a directory that cannot be created is refused with one line, wherever it is; a file is
 * replaced as a whole or not at all.
 * Method: real files; a separate process for calls that may hang, and for a limit of file sizes.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeDirectory } from '../../../../src/pki/files.ts'

const files = new URL('../../../../src/pki/files.js', import.meta.url).href

function made(path: string): string {
  const script = `import(${JSON.stringify(files)}).then((m) => m.makeDirectory(${JSON.stringify(path)}))
    .then(() => console.log('made'), (cause) => console.log(cause.message))`
  return spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', timeout: 60_000 }).stdout
}

void test('a directory that the file system cannot create is refused with one line, and the call ends', (t) => {
  if (process.platform !== 'linux') return t.skip('there is no /proc')
  assert.match(
    made('/proc/orch'),
    /^directory \/proc\/orch cannot be used \(ENOENT\): the file system of \/proc makes no directories; give another path\n$/,
  )
  assert.match(made('/dev/null/x'), /^directory \/dev\/null\/x cannot be used \(ENOTDIR\): .+\n$/)
})

void test('a directory is created with all its parents, and a second call has no effect', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-made-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  for (const path of [join(scratch, 'a'), join(scratch, 'b/c/d'), join(scratch, 'b/c/d')]) makeDirectory(path)
  assert.ok(existsSync(join(scratch, 'a')) && existsSync(join(scratch, 'b/c/d')))
})

void test('a file stays as it was when the system takes only the beginning of its replacement', (t) => {
  if (process.platform === 'win32') return t.skip('there is no ulimit')
  const scratch = mkdtempSync(join(tmpdir(), 'orch-short-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const path = join(scratch, 'admin.kubeconfig')
  writeFileSync(path, 'the present one')
  const script = `import(${JSON.stringify(files)}).then((m) =>
    m.replaceFile(${JSON.stringify(path)}, 'x'.repeat(10_000), 'secret'))`
  // Like a disk that is full: a write stores what fits, and reports how much that was.
  const limited = 'ulimit -f 1 && exec "$0" -e "$1"'
  const { status } = spawnSync('sh', ['-c', limited, process.execPath, script], { timeout: 60_000 })
  assert.notEqual(status, 0)
  assert.equal(readFileSync(path, 'utf8'), 'the present one')
})
