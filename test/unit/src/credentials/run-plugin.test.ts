/*
 * Goal: a plugin is a real process whose output, time and input are bounded.
 * Method: shell scripts, and a manual clock for the time limit.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { credentialLimits } from '../../../../src/credentials/limits.ts'
import { pluginRunner } from '../../../../src/credentials/run-plugin.ts'
import type { PluginEnd } from '../../../../src/credentials/run-plugin.ts'
import { environment } from '../../../../src/host/environment.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-plugin-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

function script(text: string, mode = 0o700): string {
  const path = join(scratch, 'plugin')
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, mode)
  return path
}

function run(
  command: string,
  of: { readonly clock?: ManualClock; readonly args?: readonly string[] } = {},
): Promise<PluginEnd> {
  return pluginRunner(of.clock ?? new ManualClock())({
    ...{
      command,
      args: of.args ?? [],
      environment: { ...environment(), GREETING: 'hello' },
      hasInput: false,
    },
  })
}

void test('arguments and environment reach the plugin, its input is empty, and its output is returned', async () => {
  const echo = script('cat; printf "%s %s" "$GREETING" "$1"')
  assert.deepEqual(await run(echo, { args: ['a b'] }), { kind: 'ended', output: 'hello a b' })
})

void test('the way a plugin fails is reported', async () => {
  assert.deepEqual(await run(script('exit 7')), { kind: 'failed', exitCode: 7 })
  assert.deepEqual(await run(script('kill -TERM $$')), { kind: 'killed', signal: 'SIGTERM' })
  assert.deepEqual(await run(join(scratch, 'absent')), { kind: 'not-started', code: 'ENOENT' })
  assert.deepEqual(await run(script('exit 0', 0o600)), { kind: 'not-started', code: 'EACCES' })
  assert.equal((await run('a\0b')).kind, 'not-started')
})

void test('a plugin that prints too much is ended', async () => {
  const endless = script('while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done')
  assert.deepEqual(await run(endless), { kind: 'too-large' })
})

void test('a plugin that does not end is ended after its time limit', async () => {
  const clock = new ManualClock()
  const ending = run(script('exec sleep 600'), { clock })
  assert.equal(clock.pending, 1)
  await clock.advance(credentialLimits.pluginMsMax)
  assert.deepEqual(await ending, { kind: 'timeout' })
})
