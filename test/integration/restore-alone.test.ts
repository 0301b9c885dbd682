/*
 * Goal: a member that is alone and made its own keys can be restored after the loss of all its
 * files, keys included; a member restored without the option for new keys needs the old ones.
 * Method: one real member in this process, saved, and restored into other directories.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { startApp } from '../../src/app.ts'
import type { App } from '../../src/app.ts'
import { call, readEndpoints } from '../../src/cli/member-client.ts'
import { loadConfig } from '../../src/config/load.ts'
import { RealClock } from '../../src/host/clock.ts'
import { RealRandom } from '../../src/host/random.ts'
import { readTextFile } from '../../src/pki/files.ts'
import { noOutput } from '../support/fakes/no-output.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { freePorts } from '../../fixtures/port-range.ts'

type Running = { readonly app: App; readonly fatal: string[]; readonly kubeconfig: string }

async function started(directory: string): Promise<Running> {
  const [port] = await freePorts(1)
  const args = [`--data-dir=${directory}`, '--bind-address=127.0.0.1', `--secure-port=${port}`]
  const loaded = loadConfig({ args, readFile: readTextFile })
  if (loaded.kind !== 'config') return assert.fail('these are flags to run with')
  const fatal: string[] = []
  const log = pino({ level: 'silent' })
  const host = { clock: new RealClock(), random: new RealRandom(), log, output: noOutput, pid: process.pid }
  const onFatal = (cause: unknown): void =>
    void fatal.push(cause instanceof Error ? cause.message : String(cause))
  const app = await startApp(loaded.config, { ...host, onFatal })
  return { app, fatal, kubeconfig: join(directory, 'admin.kubeconfig') }
}

async function ready({ kubeconfig }: Running): Promise<void> {
  const [endpoint] = readEndpoints(kubeconfig)
  assert.ok(endpoint)
  for (let attempt = 0; ; attempt++) {
    const reply = await call(endpoint, { method: 'GET', path: '/readyz' }, 1000)
    if (reply?.status === 200) return
    assert.ok(attempt < 1200, reply?.body ?? 'no answer')
    await sleep(50)
  }
}

void test('a member that is alone is restored with keys of its own', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-alone-'))
  const file = join(scratch, 'b.snap')
  const restored = async (directory: string, ...more: readonly string[]): Promise<void> => {
    const ran = await orchctl('snapshot', 'restore', file, '--data-dir', directory, ...more)
    assert.equal(ran.code, 0, ran.err)
    assert.doesNotMatch(ran.out, /Make the others/)
    const warned = /would create its own, which do not match: restore .*pki, or use --new-keys$/.test(ran.err)
    assert.equal(warned, more.length === 0, ran.err)
  }
  try {
    const first = await started(join(scratch, 'first'))
    await ready(first)
    const saved = await orchctl('snapshot', 'save', file, '--kubeconfig', first.kubeconfig)
    assert.equal(saved.code, 0, saved.err)
    await first.app.stop()

    await restored(join(scratch, 'same'))
    const other = await started(join(scratch, 'same'))
    for (let attempt = 0; other.fatal.length === 0; attempt++) {
      assert.ok(attempt < 3000, 'keys of another authority were accepted')
      await sleep(20)
    }
    await other.app.stop()
    assert.match(other.fatal[0] ?? '', /the client-ca of this member is not the cluster's/)

    await restored(join(scratch, 'new'), '--new-keys')
    const second = await started(join(scratch, 'new'))
    await ready(second)
    const again = await orchctl(
      'snapshot',
      'save',
      join(scratch, 'c.snap'),
      '--kubeconfig',
      second.kubeconfig,
      '-o',
      'json',
    )
    assert.equal(again.code, 0, again.err)
    await second.app.stop()
    assert.deepEqual([...first.fatal, ...second.fatal], [])
    const sizes = [file, join(scratch, 'c.snap')].map((path) => readFileSync(path).length)
    assert.ok(
      sizes.every((size) => size > 1000),
      sizes.join(),
    )
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
})
