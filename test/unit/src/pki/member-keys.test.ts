/*
 * Goal: a single member without key files creates a certificate for every address that it listens
 * on or is reached by, except for unspecified addresses.
 */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { readTextFile } from '../../../../src/pki/files.ts'
import { memberKeys } from '../../../../src/pki/member-keys.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const rows: readonly (readonly [bind: string, advertised: string, also: readonly string[]])[] = [
  ['127.0.0.2', 'api.example:6443', ['127.0.0.2', 'api.example']],
  ['0.0.0.0', 'api.example:6443', ['api.example']],
  ['127.0.0.2', '127.0.0.3:6443', ['127.0.0.2', '127.0.0.3']],
]

for (const [bind, advertised, also] of rows) {
  void test(`a member on ${bind} that is reached at ${advertised} has ${also.join(' and ')} in its certificate`, (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-keys-'))
    t.after(() => rmSync(directory, { recursive: true, force: true }))
    const loaded = loadConfig({
      args: [
        ...['--name=n1', `--data-dir=${directory}`],
        ...[`--bind-address=${bind}`, `--advertise-address=${advertised}`],
      ],
      readFile: readTextFile,
    })
    assert.ok(loaded.kind === 'config', JSON.stringify(loaded))
    const parts = { config: loaded.config, clock: new ManualClock(), random: new SeededRandom(1) }
    const { server } = memberKeys(parts, directory, 'maybe-alone')
    const names = (new X509Certificate(server.certificate).subjectAltName ?? '')
      .split(', ')
      .map((name) => name.replace(/^(DNS|IP Address):/, ''))
    assert.ok(names.includes(hostname()))
    for (const name of also) assert.ok(names.includes(name), `${name} is in ${names.join(', ')}`)
    assert.ok(!names.includes('0.0.0.0'))
  })
}
