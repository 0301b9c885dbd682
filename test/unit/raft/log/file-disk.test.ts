/*
 * Goal: the real disk keeps the log through kill -9, and reports errors of the operating system in
 * one line.
 * Method: temporary directories; a process that is killed while it appends; /dev/full as a full
 * disk.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs, { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { LogError } from '../../../../raft/log/errors.ts'
import { FileDisk } from '../../../../raft/log/file-disk.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import { makeDirectory } from '../../../../src/pki/files.ts'
import { command, commands, contents, readAll, write } from '../../../conformance/log-store.ts'

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'orch-disk-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function failsWith(code: string, words: RegExp, action: () => unknown): void {
  assert.throws(action, (cause) => {
    assert.ok(cause instanceof LogError)
    assert.equal(cause.code, code)
    assert.match(cause.message, words)
    assert.doesNotMatch(cause.message, /\n/)
    return true
  })
}

/** Returns the directories whose entries were made durable while `action` ran. */
function syncedWhile(t: TestContext, action: () => void): readonly string[] {
  const paths = new Map<number, string>()
  const synced: string[] = []
  const { openSync, fsyncSync } = fs
  t.mock.method(fs, 'openSync', (...args: Parameters<typeof openSync>) => {
    const descriptor = openSync(...args)
    paths.set(descriptor, String(args[0]))
    return descriptor
  })
  t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
    synced.push(paths.get(descriptor) ?? '')
    fsyncSync(descriptor)
  })
  syncBuiltinESMExports()
  try {
    action()
  } finally {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  }
  return synced
}

void test('each directory that is created is made durable in its parent directory', (t) => {
  const root = folder(t)
  const made = syncedWhile(t, () => new FileDisk(join(root, 'member', 'log')))
  assert.deepEqual([...made].sort(), [root, join(root, 'member')])
  assert.deepEqual(
    syncedWhile(t, () => new FileDisk(join(root, 'member', 'log'))),
    [],
  )
  assert.deepEqual([...syncedWhile(t, () => makeDirectory(join(root, 'other', 'data')))].sort(), [
    root,
    join(root, 'other'),
  ])
})

void test('a write that the system splits arrives as a whole', (t) => {
  const file = new FileDisk(join(folder(t), 'log')).open('a', 'create')
  const { writeSync } = fs
  const lengths: number[] = []
  t.mock.method(
    fs,
    'writeSync',
    (to: number, bytes: Uint8Array, from: number, length: number, at: number) => {
      lengths.push(length)
      return writeSync(to, bytes, from, Math.min(length, 2), at)
    },
  )
  syncBuiltinESMExports()
  try {
    file.write(4, new Uint8Array([1, 2, 3, 4, 5]))
  } finally {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  }
  assert.deepEqual(lengths, [5, 3, 1])
  assert.deepEqual(file.read(0, 100), new Uint8Array([0, 0, 0, 0, 1, 2, 3, 4, 5]))
  file.close()
})

void test('reads end at the end of the file, writes extend it', (t) => {
  const disk = new FileDisk(join(folder(t), 'log'))
  const file = disk.open('a', 'create')
  file.write(3, new Uint8Array([1, 2, 3]))
  assert.equal(file.size(), 6)
  assert.deepEqual(file.read(2, 100), new Uint8Array([0, 1, 2, 3]))
  assert.deepEqual(file.read(6, 1), new Uint8Array(0))
  file.truncate(4)
  file.sync()
  file.close()
  disk.rename('a', 'b')
  disk.syncDirectory()
  assert.deepEqual(disk.list(), ['b'])
  const again = disk.open('b', 'existing')
  assert.deepEqual(again.read(0, 10), new Uint8Array([0, 0, 0, 1]))
  again.close()
  disk.remove('b')
  assert.deepEqual(disk.list(), [])
})

void test('files and directory are accessible to their owner only', (t) => {
  const directory = join(folder(t), 'log')
  const disk = new FileDisk(directory)
  disk.open('a', 'create').close()
  assert.equal(statSync(directory).mode & 0o777, 0o700)
  assert.equal(statSync(join(directory, 'a')).mode & 0o777, 0o600)
})

void test('errors of the operating system are reported in one line', (t) => {
  const directory = folder(t)
  const disk = new FileDisk(directory)
  failsWith('io', /cannot open .*nothing.*ENOENT/, () => disk.open('nothing', 'existing'))
  disk.open('a', 'create').close()
  failsWith('io', /cannot open .*EEXIST/, () => disk.open('a', 'create'))
  writeFileSync(join(directory, 'file'), '')
  failsWith('io', /cannot make directory/, () => new FileDisk(join(directory, 'file')))
  if (existsSync('/dev/full')) {
    symlinkSync('/dev/full', join(directory, 'full'))
    const full = disk.open('full', 'existing')
    failsWith('disk-full', /cannot write .*full: the disk is full/, () => full.write(0, new Uint8Array(10)))
    full.close()
  }
})

/** Appends forever, printing the last durable index after each group. */
function appender(directory: string): string {
  const from = (path: string): string =>
    JSON.stringify(new URL(`../../../../${path}.js`, import.meta.url).href)
  return `
    import { Wal } from ${from('raft/log/wal')}
    import { FileDisk } from ${from('raft/log/file-disk')}
    import { SeededRandom } from ${from('base/random')}
    import { writeSync } from 'node:fs'
    const wal = Wal.open({ disk: new FileDisk(${JSON.stringify(directory)}), random: new SeededRandom(1),
      segmentBytes: 200_000, aheadBytes: 50_000 })
    let last = wal.recovered.lastIndex
    for (;;) {
      const entries = []
      for (let count = 0; count < 1 + last % 7; count++) {
        const index = ++last
        entries.push({ index, term: 1, kind: 'command', data: new TextEncoder().encode('entry ' + index) })
      }
      wal.append([{ snapshot: null, entries, hardState: null }])
      writeSync(1, last + '\\n')
      wal.prepare()
    }`
}

function killedAppender(directory: string, afterLines: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', appender(directory)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more
      if (text.split('\n').length > afterLines) child.kill('SIGKILL')
    })
    child.once('error', reject)
    child.once('close', () => resolve(Number(text.trim().split('\n').at(-1))))
  })
}

void test('kill -9 loses no entry whose append returned', async (t) => {
  const directory = folder(t)
  const disk = new FileDisk(directory)
  for (const afterLines of [50, 400, 1000]) {
    const promised = await killedAppender(directory, afterLines)
    const wal = Wal.open({ disk, random: new SeededRandom(1), segmentBytes: 200_000 })
    const { lastIndex } = wal.recovered
    assert.ok(promised > 0 && lastIndex >= promised, `${lastIndex} >= ${promised}`)
    const expected = Array.from({ length: lastIndex }, (_, at) => command(at + 1, 1, `entry ${at + 1}`))
    assert.deepEqual(contents(wal), expected)
    wal.close()
  }
  assert.ok(disk.list().length > 1, 'the log spans several segments')
})

void test('a compaction frees space on the real disk', (t) => {
  const disk = new FileDisk(folder(t))
  const wal = Wal.open({ disk, random: new SeededRandom(1), segmentBytes: 10_000 })
  for (let index = 1; index < 2000; index += 20) wal.append([write(commands(index, index + 19, 1))])
  const before = disk.list().length
  const { configuration } = wal.recovered
  const [{ index, term }] = readAll(wal, 1990, 1990) as [ReturnType<typeof command>]
  wal.compact({ index, term, configuration })
  assert.ok(before > 5 && disk.list().length <= 2)
  assert.deepEqual(readAll(wal, 1991, 2000), commands(1991, 2000, 1))
  wal.close()
})
