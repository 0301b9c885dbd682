/*
 * Goal: credentials for node agents are checked at the start, and renewed without a restart.
 * Method: files that the test replaces, and the system clock.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { NodeAgentKeys } from '../../../../src/backends/node-agent-identity.ts'
import type { NodeAgentFiles } from '../../../../src/backends/node-agent-identity.ts'
import { StartError } from '../../../../src/config/start-error.ts'
import { until } from '../../../support/tools/until.ts'

function filesIn(t: TestContext): {
  readonly files: NodeAgentFiles
  readonly write: (name: string, text: string) => void
} {
  const folder = mkdtempSync(join(tmpdir(), 'orch-agent-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const at = (name: string): string => join(folder, name)
  return {
    files: { certificate: at('cert'), key: at('key'), authority: at('ca') },
    write: (name, text) => writeFileSync(at(name), text),
  }
}

void test('files that are missing, no PEM, or no pair are errors that name the options', (t) => {
  const { files, write } = filesIn(t)
  const { cert, key } = new TestAuthority().client('a', [])
  const open = (): NodeAgentKeys => new NodeAgentKeys(files, { clock: systemClock, log: quiet })
  const refused = (words: RegExp): void =>
    assert.throws(open, (cause) => cause instanceof StartError && words.test(cause.message))
  refused(/^--kubelet-client-certificate /)
  write('cert', cert)
  refused(/^--kubelet-client-key /)
  write('key', 'no key')
  write('ca', 'no bundle')
  refused(/^--kubelet-certificate-authority .*CERTIFICATE/)
  write('ca', new TestAuthority().pem)
  refused(/^--kubelet-client-certificate .* and --kubelet-client-key .* are not a certificate and its key/)
  write('key', new TestAuthority().client('b', []).key)
  refused(/are not a certificate and its key/)
  write('key', key)
  open().close()
})

void test('changed files are used, and invalid ones leave the earlier credentials in use', async (t) => {
  const { files, write } = filesIn(t)
  const authority = new TestAuthority()
  const [first, second] = [authority.client('a', []), authority.client('b', [])]
  write('cert', first.cert)
  write('key', first.key)
  write('ca', authority.pem)
  const logged: string[] = []
  const note = (_: object, message: string): void => void logged.push(message)
  const keys = new NodeAgentKeys(files, { clock: systemClock, log: { info: note, warn: note } })
  t.after(() => keys.close())
  write('cert', second.cert)
  await until('the invalid pair is reported', () => logged.some((line) => line.includes('are invalid')))
  assert.equal(keys.identity.certificate, first.cert)
  write('key', second.key)
  await until('the new pair is in use', () => keys.identity.certificate === second.cert)
  assert.equal(keys.identity.key, second.key)
  assert.equal(keys.identity.authority, authority.pem)
})

const quiet = { info: (): void => undefined, warn: (): void => undefined }
