/*
 * Goal: the systemd unit is valid and fits the server.
 * Method: systemd checks a copy in which the program is one that exists; the flags and exit codes
 * are compared with those of the server.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { usageExitCode } from '../../src/config/errors.ts'
import { flagNames } from '../../src/config/load.ts'
import { removedExitCode } from '../../src/membership/removal.ts'
import { root } from './markdown.ts'

const unit = readFileSync(join(root, 'packaging/orch-apiserver.service'), 'utf8')
const analyze = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
const needsSystemd = { skip: analyze.status === 0 ? false : 'needs systemd-analyze (package systemd)' }

function valueOf(key: string): string {
  const values = [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  assert.equal(values.length, 1, `${key} is set once`)
  return values[0] ?? ''
}

void test('systemd-analyze verify accepts the unit', needsSystemd, (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'orch-unit-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const copy = join(dir, 'orch-apiserver.service')
  writeFileSync(copy, unit.replace('/usr/local/bin/orch-apiserver', process.execPath))
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', copy], { encoding: 'utf8' })
  // An unknown setting is a warning there: the exit code alone would let it pass.
  assert.deepEqual({ status, text: `${stdout}${stderr}` }, { status: 0, text: '' })
})

void test('the unit starts the server with flags that exist', () => {
  const flags = [...valueOf('ExecStart').matchAll(/ --([a-z-]+)/g)].map(([, flag]) => flag)
  assert.deepEqual(flags, ['config', 'data-dir'])
  assert.deepEqual(
    flags.filter((flag) => !(flagNames as readonly unknown[]).includes(flag)),
    [],
  )
})

void test('the unit restarts a member except after exit codes that a restart does not help', () => {
  assert.equal(valueOf('Restart'), 'always')
  assert.equal(valueOf('RestartPreventExitStatus'), `${usageExitCode} ${removedExitCode}`)
})
