/*
 * Goal: one command makes a cluster on this machine out of a snapshot, with keys of its own; with a
 * snapshot that cannot be decrypted it creates nothing.
 * Method: the shipped command, which starts real servers, in a temporary directory.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { orchctl } from '../support/drivers/orchctl.ts'
import type { Ran } from '../support/drivers/orchctl.ts'
import { freePorts } from '../../fixtures/port-range.ts'
import { patienceMs } from '../support/tools/until.ts'

void test('a local cluster continues from a snapshot of another one', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-local-'))
  const [first, second] = [join(scratch, 'first'), join(scratch, 'second')]
  const secret = join(scratch, 'passphrase')
  const file = join(scratch, 'b.snap')
  writeFileSync(secret, 'correct horse\n')
  const done = async (...args: readonly string[]): Promise<Ran> => {
    const ran = await orchctl(...args)
    assert.equal(ran.code, 0, ran.err)
    return ran
  }
  const up = async (directory: string): Promise<readonly string[]> => {
    const [client, peer] = await freePorts(2)
    return [
      'cluster',
      'up',
      '--nodes',
      '1',
      '--dir',
      directory,
      '--client-port',
      `${client}`,
      '--peer-port',
      `${peer}`,
      '--timeout',
      `${patienceMs / 1000}`,
    ]
  }
  const settings = (directory: string): readonly string[] => [
    '--kubeconfig',
    join(directory, 'admin.kubeconfig'),
    '-o',
    'json',
  ]
  try {
    await done(...(await up(first)), '--domain', 'k8s.io')
    await done('settings', 'set', '--history-events-min', '4711', ...settings(first))
    await done('snapshot', 'save', file, '--passphrase-file', secret, ...settings(first))
    await done('cluster', 'down', '--dir', first)
    const locked = await orchctl(...(await up(second)), '--restore', file)
    assert.equal(locked.code, 1)
    assert.match(locked.err, /b\.snap is encrypted with a passphrase: give --passphrase-file$/)
    assert.ok(!existsSync(second))
    const restored = [...(await up(second)), '--restore', file, '--passphrase-file', secret]
    const { out } = await done(...restored)
    assert.match(out, /1 member\(s\) ready, API domain k8s\.io/)
    const got = await done('settings', 'get', ...settings(second))
    assert.match(got.out, /"historyEventsMin": 4711/)
    const again = await orchctl(...restored)
    assert.equal(again.code, 1)
    assert.match(again.err, /data (is in use by process \d+|is not empty \(.*\)): .*give another directory/)
    await done('cluster', 'down', '--dir', second)
    assert.match((await orchctl(...restored)).err, /data is not empty \(.*\): give another directory/)
  } finally {
    for (const directory of [first, second]) await orchctl('cluster', 'down', '--force', '--dir', directory)
    rmSync(scratch, { recursive: true, force: true })
  }
})
