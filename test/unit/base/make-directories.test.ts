/*
 * Goal: a directory is created with all its parents, or refused with the path that prevents it;
 * the call always ends.
 * Method: real directories, and paths below /proc, where no directory can be created. Every
 * function that creates a directory with its parents is tried there, in a process of its own,
 * because a call that never ends could not be detected otherwise.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DirectoryError, makeDirectories, makeDirectoriesSync } from '../../../base/make-directories.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-directories-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

/** The synchronous and the asynchronous function, both as asynchronous ones. */
const ways: readonly (readonly [string, (path: string) => Promise<string | null>])[] = [
  ['at once', async (path) => makeDirectoriesSync(path)],
  ['in the background', makeDirectories],
]

for (const [way, make] of ways) {
  const below = join(scratch, way)

  void test(`${way}: a directory is created with its parents, for the owner alone, and the first new one is returned`, async () => {
    const deep = join(below, 'b/c/d')
    assert.equal(await make(deep), below)
    assert.equal(await make(deep), null, 'it is there')
    assert.equal(await make(join(below, 'b/c/e/f')), join(below, 'b/c/e'))
    for (const path of [below, deep, join(below, 'b/c/e/f')]) assert.equal(statSync(path).mode & 0o777, 0o700)
    symlinkSync(deep, join(below, 'link'))
    assert.equal(await make(join(below, 'link/x')), join(below, 'link/x'), 'through a link')
    assert.equal(await make('.'), null)
    assert.equal(await make('/'), null)
  })

  void test(`${way}: concurrent calls for one directory all succeed`, async () => {
    const path = join(scratch, `several ${way}`, 'x/y')
    await Promise.all([make(path), makeDirectories(path), make(path)])
    assert.ok(statSync(path).isDirectory())
  })

  void test(`${way}: the error names the path that prevents the directory`, async () => {
    writeFileSync(join(scratch, `file ${way}`), '')
    symlinkSync(join(scratch, 'nowhere'), join(scratch, `dangling ${way}`))
    const refused: readonly (readonly [string, string, string])[] = [
      [`file ${way}`, 'ENOTDIR', `file ${way}`],
      [`file ${way}/x/y`, 'ENOTDIR', `file ${way}`],
      [`dangling ${way}/x`, 'EEXIST', `dangling ${way}`],
      [`${'a'.repeat(300)}/x`, 'ENAMETOOLONG', `${'a'.repeat(300)}/x`],
    ]
    for (const [path, code, culprit] of refused) {
      const named = join(scratch, culprit)
      await assert.rejects(make(join(scratch, path)), (cause) => {
        assert.ok(cause instanceof DirectoryError)
        assert.equal(cause.message, `${code}: directory ${named} cannot be created`)
        assert.deepEqual([cause.code, cause.path], [code, named])
        return true
      })
    }
  })
}

/** Each function that creates a directory with its parents: its name, its module and a call. */
const makers: readonly (readonly [string, string, string])[] = [
  ['the helper', 'base/make-directories.js', 'm.makeDirectoriesSync(path)'],
  ['the helper in the background', 'base/make-directories.js', 'm.makeDirectories(path)'],
  ['files of keys', 'src/pki/files.js', 'm.makeDirectory(path)'],
  ['the log', 'raft/log/file-disk.js', 'new m.FileDisk(path)'],
  [
    'the database',
    'src/store/disk/level-key-value-store.js',
    "new m.LevelKeyValueDatabases(path).open('db-0')",
  ],
  ['a log of lines', 'src/host/append-file.js', "m.appendedFiles.open(path + '/audit.log')"],
]

for (const [what, module, call] of makers) {
  void test(`${what}: the call ends with an error when a parent directory cannot be created`, (t) => {
    if (process.platform !== 'linux') return t.skip('there is no /proc')
    const from = new URL(`../../../${module}`, import.meta.url).href
    for (const path of ['/proc/nope/x', '/proc/nope']) {
      const program = `
        import * as m from ${JSON.stringify(from)}
        const path = ${JSON.stringify(path)}
        const result = await new Promise((resolve) => resolve(${call})).then(() => 'made', (cause) => cause.message)
        console.log(result)`
      const { stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
        encoding: 'utf8',
        timeout: 30_000,
      })
      assert.equal(signal, null, 'it ends by itself')
      assert.match(stdout, /\/proc\/nope.*ENOENT|ENOENT.*\/proc\/nope/, stderr)
    }
  })
}
