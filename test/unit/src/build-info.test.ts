/*
 * Goal: /version names the commit that was built and its date; without a checkout both are unknown.
 * Method: the Makefile's own step, in a checkout made here, in a folder inside of it, and without
 * one.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { buildInfo } from '../../../src/build-info.ts'

const makefile = fileURLToPath(new URL('../../../../Makefile', import.meta.url))
const date = '2026-01-02T03:04:05+02:00'

function run(cwd: string, command: string, ...args: readonly string[]): string {
  // In a git hook, variables name the checkout of the hook.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  const env = { ...Object.fromEntries(own), GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date }
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout.trim()
}

void test('/version has the commit and its date, whenever it is built, and neither outside of a checkout', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-version-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const info = join(directory, 'dist/src/build-info.json')
  const unknown = { gitCommit: 'unknown', buildDate: '1970-01-01T00:00:00Z' }
  const reported = (path: string) => {
    const { gitCommit, buildDate } = buildInfo(path)
    return { gitCommit, buildDate }
  }
  copyFileSync(makefile, join(directory, 'Makefile'))
  run(directory, 'make', 'build-info')
  assert.ok(!existsSync(info))
  assert.deepEqual(reported(info), unknown)

  run(directory, 'git', 'init', '-q')
  run(directory, 'make', 'build-info')
  assert.deepEqual(reported(info), unknown, 'nothing was committed yet')
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@t.example', '-c', 'commit.gpgsign=false']
  run(directory, 'git', ...who, 'commit', '-q', '--allow-empty', '-m', 'first')
  run(directory, 'make', 'build-info')
  const gitCommit = run(directory, 'git', 'rev-parse', 'HEAD')
  assert.deepEqual(reported(info), { gitCommit, buildDate: '2026-01-02T01:04:05Z' })

  // A tarball unpacked inside another checkout is not that checkout.
  const inside = join(directory, 'inside')
  mkdirSync(inside)
  copyFileSync(makefile, join(inside, 'Makefile'))
  run(inside, 'make', 'build-info')
  assert.deepEqual(reported(join(inside, 'dist/src/build-info.json')), unknown)

  for (const text of ['', '{', '[]', '{"gitCommit":"x","buildDate":"now"}', '{"gitCommit":1}']) {
    writeFileSync(info, text)
    assert.deepEqual(reported(info), unknown, text)
  }
})
