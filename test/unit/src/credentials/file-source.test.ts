/*
 * Goal: tokens and certificates in files are read again when another program renewed them, and the
 * last ones stay in use while a file cannot be read.
 * Method: real files on a manual clock.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { FileSource } from '../../../../src/credentials/file-source.ts'
import type { FileSourceOptions } from '../../../../src/credentials/file-source.ts'
import { credentialLimits } from '../../../../src/credentials/limits.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-credentials-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

let files = 0
function file(text: string): string {
  const path = join(scratch, `file-${files++}`)
  writeFileSync(path, text)
  return path
}

function sourceOf(options: Partial<FileSourceOptions>): { source: FileSource; clock: ManualClock } {
  const clock = new ManualClock()
  const none = {
    certificate: null,
    key: null,
    token: null,
    tokenFile: null,
    impersonation: [],
    where: 'user u',
  }
  return { source: new FileSource({ ...none, ...options }, clock), clock }
}

void test('a token file is read again after a minute, or after a 401', async () => {
  const tokenFile = file('first\n')
  const { source, clock } = sourceOf({ tokenFile })
  const first = await source.current()
  assert.equal(first.token, 'first')
  writeFileSync(tokenFile, 'second\n')
  assert.equal((await source.current()).token, 'first')
  await clock.advance(credentialLimits.fileAgeMsMax)
  const second = await source.current()
  assert.equal(second.token, 'second')
  assert.equal(await source.renew(second), null, 'it has not changed')
  writeFileSync(tokenFile, 'third')
  assert.equal((await source.renew(second))?.token, 'third')
  assert.equal((await source.current()).token, 'third')
})

void test('the last token stays in use while its file cannot be read', async () => {
  const tokenFile = file('first')
  const { source, clock } = sourceOf({ tokenFile })
  await source.current()
  for (const change of [() => writeFileSync(tokenFile, ' \n'), () => rmSync(tokenFile)]) {
    change()
    await clock.advance(credentialLimits.fileAgeMsMax)
    assert.equal((await source.current()).token, 'first')
  }
})

void test('a token file wins over a token, which is used while the file cannot be read', async () => {
  const tokenFile = join(scratch, 'later')
  const { source, clock } = sourceOf({ token: 'fixed', tokenFile })
  assert.equal((await source.current()).token, 'fixed')
  writeFileSync(tokenFile, 'from-file')
  await clock.advance(credentialLimits.fileAgeMsMax)
  assert.equal((await source.current()).token, 'from-file')
})

void test('a certificate and its key are replaced together', async () => {
  const trusted = new TestAuthority()
  const [one, two] = [trusted.client('a', []), trusted.client('a', [])]
  const [certificate, key] = [file(one.cert), file(one.key)]
  const { source, clock } = sourceOf({
    certificate: { kind: 'file', path: certificate },
    key: { kind: 'file', path: key },
  })
  const first = await source.current()
  assert.deepEqual(first.identity, { certificate: one.cert, key: one.key })
  writeFileSync(certificate, two.cert)
  await clock.advance(credentialLimits.fileAgeMsMax)
  assert.equal(await source.current(), first, 'half of the new pair')
  writeFileSync(key, two.key)
  await clock.advance(credentialLimits.fileAgeMsMax)
  assert.deepEqual((await source.current()).identity, { certificate: two.cert, key: two.key })
})

void test('invalid credentials are refused with their place, without their content', async () => {
  const trusted = new TestAuthority()
  const [one, two] = [trusted.client('a', []), trusted.client('b', [])]
  const inline = (text: string): { readonly kind: 'inline'; readonly text: string } => ({
    kind: 'inline',
    text,
  })
  const empty = file('\n')
  const table: readonly (readonly [Partial<FileSourceOptions>, RegExp])[] = [
    [{ tokenFile: join(scratch, 'none') }, /none cannot be read \(ENOENT\)/],
    [{ tokenFile: empty }, /is empty: give a file or text with one token$/],
    [{ token: 'a\nb' }, /user u: token has characters that a header cannot have/],
    [{ certificate: inline('x'), key: inline(one.key) }, /user u: the client certificate is not PEM$/],
    [
      { certificate: inline(one.cert), key: inline(two.key) },
      /user u: the client key does not belong to the client certificate$/,
    ],
  ]
  for (const [options, words] of table) {
    await assert.rejects(sourceOf(options).source.current(), ({ message }: Error) => {
      assert.match(message, words)
      assert.doesNotMatch(message, /BEGIN|\n/)
      return true
    })
  }
})
