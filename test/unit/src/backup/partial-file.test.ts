/*
 * Goal: of two writers of the same file, each either leaves a complete file or gets an error; no
 * writer publishes or removes the other's file.
 * Method: two writers of one path on real files, in every order of their last steps.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { BackupError } from '../../../../src/backup/errors.ts'
import { PartialFile } from '../../../../src/backup/partial-file.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-partial-'))
after(() => rmSync(scratch, { recursive: true, force: true }))
const path = join(scratch, 'b.snap')
beforeEach(() => rmSync(path, { force: true }))

const random = new SeededRandom(1)
const opened = (): PartialFile => new PartialFile(path, random)
const text = (words: string): Uint8Array => Buffer.from(words)

void test('a file appears once it is complete, readable by its owner only, and no other file remains', () => {
  const partial = opened()
  partial.write(text('all '))
  assert.deepEqual(readdirSync(scratch).length, 1)
  assert.match(readdirSync(scratch)[0] ?? '', /^b\.snap\.[0-9a-f]{12}\.partial$/)
  partial.write(text('of it'))
  partial.commit()
  partial.discard()
  assert.deepEqual(readdirSync(scratch), ['b.snap'])
  assert.equal(readFileSync(path, 'utf8'), 'all of it')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(partial.bytes, 9)
  assert.throws(opened, { name: 'BackupError', message: /b\.snap already exists: give another name/ })
})

void test('a missing directory is named in the error', () => {
  const at =
    (...parts: readonly string[]): (() => PartialFile) =>
    () =>
      new PartialFile(join(scratch, ...parts), random)
  assert.throws(at('none', 'b.snap'), {
    message:
      /^cannot create [^ ]*none\/b\.snap \(ENOENT\): the directory [^ ]*none does not exist: create it/,
  })
  opened().commit()
  assert.throws(at('b.snap', 'b.snap'), { message: /\(ENOTDIR\): [^ ]*b\.snap is not a directory/ })
})

void test('of two writers to one path, one publishes its complete file, and the other is refused', () => {
  for (const order of ['first', 'second'] as const) {
    rmSync(path, { force: true })
    const first = opened()
    first.write(text('first, '))
    const second = opened()
    second.write(text('second, half'))
    first.write(text('whole'))
    second.write(text(' and whole'))
    const [wins, loses] = order === 'first' ? [first, second] : [second, first]
    wins.commit()
    assert.throws(
      () => loses.commit(),
      (cause) => cause instanceof BackupError && /b\.snap was created concurrently/.test(cause.message),
    )
    loses.discard()
    wins.discard()
    assert.equal(readFileSync(path, 'utf8'), order === 'first' ? 'first, whole' : 'second, half and whole')
    assert.deepEqual(readdirSync(scratch), ['b.snap'])
  }
})

void test('a writer that gives up removes only its own partial file', () => {
  const [one, other] = [opened(), opened()]
  one.write(text('one'))
  other.write(text('other'))
  one.discard()
  other.commit()
  assert.equal(readFileSync(path, 'utf8'), 'other')
})
