/*
 * Goal: a log of lines on a real disk contains only complete lines, also after a process that ended
 * within one and on a full disk.
 * Method: real files; /dev/full for a full disk.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { appendedFiles } from '../../../../src/host/append-file.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-append-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

void test('existing content stays, an unfinished line is ended, and directories are created', async () => {
  const path = join(scratch, 'logs', 'deep', 'audit.log')
  const first = await appendedFiles.open(path)
  await first.append(Buffer.from('one\ntw'))
  assert.equal(first.size, 6)
  await first.close()
  assert.equal(statSync(path).mode & 0o777, 0o600, 'for its owner alone')
  const second = await appendedFiles.open(path)
  await second.append(Buffer.from('three\n'))
  assert.equal(second.size, 13)
  await second.close()
  assert.equal(readFileSync(path, 'utf8'), 'one\ntw\nthree\n')
})

void test('a file whose last line is complete is not changed when it is opened', async (t) => {
  const path = join(scratch, 'complete.log')
  writeFileSync(path, 'one\n')
  const handle = await open(path)
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  // A slow disk: the byte arrives in a later turn of the event loop.
  t.mock.method(prototype, 'read', async (last: Buffer) => {
    await setImmediate()
    last.write('\n')
  })
  const file = await appendedFiles.open(path)
  await file.close()
  assert.equal(file.size, 4)
  assert.equal(readFileSync(path, 'utf8'), 'one\n')
})

void test('files are listed, renamed and removed; a missing one is no error', async () => {
  const path = join(scratch, 'a')
  writeFileSync(path, '')
  await appendedFiles.rename(path, join(scratch, 'b'))
  assert.ok((await appendedFiles.list(scratch)).includes('b'))
  await appendedFiles.remove(join(scratch, 'b'))
  await appendedFiles.remove(join(scratch, 'b'))
  assert.ok(!(await appendedFiles.list(scratch)).includes('b'))
})

void test('a partial write is removed', () => {
  const path = join(scratch, 'limited.log')
  // A file may have 1 KiB: the second write ends in the middle.
  const program = `
    import { appendedFiles } from ${JSON.stringify(new URL('../../../../src/host/append-file.js', import.meta.url).href)}
    process.on('SIGXFSZ', () => undefined)
    const file = await appendedFiles.open(${JSON.stringify(path)})
    await file.append(Buffer.from('a'.repeat(999) + '\\n'))
    const why = await file.append(Buffer.from('b'.repeat(999) + '\\n')).catch((cause) => cause.code)
    await file.append(Buffer.from('c\\n'))
    console.log(why, file.size)`
  const { stdout, stderr } = spawnSync(
    'bash',
    ['-c', 'ulimit -f 1; exec "$@"', 'bash', process.execPath, '--input-type=module', '-e', program],
    { encoding: 'utf8', timeout: 60_000 },
  )
  assert.equal(stdout, 'EFBIG 1002\n', stderr)
  assert.equal(readFileSync(path, 'utf8'), `${'a'.repeat(999)}\nc\n`)
})

void test('an append to a full disk is rejected, and so is a path below a file', async () => {
  const full = await appendedFiles.open('/dev/full')
  await assert.rejects(() => full.append(Buffer.from('x\n')), /ENOSPC/)
  assert.equal(full.size, 0)
  await full.close()
  writeFileSync(join(scratch, 'file'), '')
  await assert.rejects(() => appendedFiles.open(join(scratch, 'file', 'audit.log')), /ENOTDIR|EEXIST/)
})

void test('a pipe whose reader does not read times out, and the writing process can exit', () => {
  const path = join(scratch, 'pipe')
  execFileSync('mkfifo', [path])
  const program = `
    import { openSync, readSync } from 'node:fs'
    import { appendedFiles } from ${JSON.stringify(new URL('../../../../src/host/append-file.js', import.meta.url).href)}
    const reader = openSync(${JSON.stringify(path)}, 'r+')
    const file = await appendedFiles.open(${JSON.stringify(path)})
    await file.append(Buffer.from('a\\n'))
    const why = await file.append(Buffer.from('b'.repeat(200_000) + '\\n')).catch((cause) => cause.code)
    const again = await file.append(Buffer.from('x\\n')).catch((cause) => cause.code)
    const bytes = Buffer.alloc(1 << 20)
    const first = readSync(reader, bytes)
    await file.append(Buffer.from('c\\n'))
    const second = readSync(reader, bytes, first, 1000, null)
    console.log(why, again, JSON.stringify(bytes.toString('utf8', 0, first + second).replace(/b+/, 'b')))
    // What does not fit into the pipe waits for a reader that never reads.
    void file.append(Buffer.from('d'.repeat(200_000)))
    setTimeout(() => process.exit(7), 100)`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.equal(stdout, 'EAGAIN EAGAIN "a\\nb\\nc\\n"\n', stderr)
  assert.equal(status, 7, 'it ends by itself')
})
