/*
 * Goal: lines reach the log in order, and each lost line is counted; full files are rotated and old
 * ones deleted; a slow, full or broken disk delays only calls that have to wait, and memory stays
 * bounded.
 * Method: an in-memory file system that the test delays and breaks, and a manual clock.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { limits } from '../../../../src/config/limits.ts'
import { backupName, expiredBackups } from '../../../../src/audit/backups.ts'
import type { LogFile, LogFiles } from '../../../../src/audit/log-files.ts'
import { AuditLogWriter } from '../../../../src/audit/audit-log-writer.ts'
import type { AuditLogOptions } from '../../../../src/audit/audit-log-writer.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

class MemoryFiles implements LogFiles {
  readonly contents = new Map<string, string>()
  /** The text of each append. */
  readonly appends: string[] = []
  /** The error of the next calls; null: they succeed. */
  broken: string | null = null
  brokenRename: string | null = null
  /** Appends wait until this promise resolves. */
  gate: Promise<void> = Promise.resolve()

  async open(path: string): Promise<LogFile> {
    this.#check()
    if (!this.contents.has(path)) this.contents.set(path, '')
    const { contents } = this
    return {
      get size() {
        return (contents.get(path) ?? '').length
      },
      append: async (bytes) => {
        await this.gate
        this.#check()
        const text = Buffer.from(bytes).toString('utf8')
        this.appends.push(text)
        this.contents.set(path, (this.contents.get(path) ?? '') + text)
      },
      close: () => Promise.resolve(),
    }
  }

  async rename(from: string, to: string): Promise<void> {
    if (this.brokenRename !== null) throw new Error(this.brokenRename)
    assert.ok(!this.contents.has(to), `${to} is not written over`)
    this.contents.set(to, this.contents.get(from) ?? '')
    this.contents.delete(from)
  }

  async list(directory: string): Promise<readonly string[]> {
    return [...this.contents.keys()].map((path) => path.slice(directory.length + 1))
  }

  async remove(path: string): Promise<void> {
    this.contents.delete(path)
  }

  #check(): void {
    if (this.broken !== null) throw new Error(this.broken)
  }
}

const path = '/var/log/audit.log'
let files = new MemoryFiles()
let clock = new ManualClock()
let reported: string[] = []
let lost = { log: 0, buffered: 0 }

beforeEach(() => {
  files = new MemoryFiles()
  clock = new ManualClock()
  reported = []
  lost = { log: 0, buffered: 0 }
})

function open(change: Partial<AuditLogOptions> = {}): Promise<AuditLogWriter> {
  return AuditLogWriter.open(
    { path, bytesMax: 1000, backupsMax: 0, backupMsMax: 0, ...change },
    {
      clock,
      files,
      log: {
        error: (fields, message) => void reported.push(`error ${message} ${JSON.stringify(fields)}`),
        info: (fields, message) => void reported.push(`info ${message} ${JSON.stringify(fields)}`),
      },
      onLost: (plugin, count) => {
        lost[plugin] += count
      },
    },
  )
}

function line(text: string): Uint8Array {
  return Buffer.from(`${text}\n`)
}

/** Blocks the disk. @returns a function that ends this */
function holdUp(): () => void {
  let go = (): void => undefined
  files.gate = new Promise((resolve) => {
    go = resolve
  })
  return go
}

void describe('writing', () => {
  void test('lines that arrive during a write form the next write, in order', async () => {
    const writer = await open()
    const go = holdUp()
    writer.add(line('a'))
    writer.add(line('b'))
    await clock.settle()
    for (const text of ['c', 'd', 'e']) writer.add(line(text))
    go()
    await clock.settle()
    assert.deepEqual(files.appends, ['a\nb\n', 'c\nd\ne\n'])
    await writer.close()
  })

  void test('a waiting request resumes when its line is written, and not before', async () => {
    const writer = await open()
    const go = holdUp()
    const woken: string[] = []
    writer.add(line('a'))
    writer.whenSettled((written) => void woken.push(`a ${written}`))
    await clock.settle()
    writer.add(line('b'))
    writer.whenSettled((written) => void woken.push(`b ${written}`))
    const stop = writer.whenSettled(() => void woken.push('left'))
    assert.equal(woken.length, 0)
    stop()
    const goAgain = holdUp()
    go()
    await clock.settle()
    assert.deepEqual(woken, ['a true'])
    goAgain()
    await clock.settle()
    assert.deepEqual(woken, ['a true', 'b true'])
    writer.whenSettled((written) => void woken.push(`now ${written}`))
    assert.deepEqual(woken, ['a true', 'b true', 'now true'], 'nothing is under way')
    await writer.close()
  })

  void test('close writes waiting lines, and does not wait for a dead disk', async () => {
    const quick = await open()
    quick.add(line('last'))
    await quick.close()
    assert.deepEqual(files.appends, ['last\n'])
    const writer = await open()
    const go = holdUp()
    const woken: boolean[] = []
    writer.add(line('x'))
    writer.whenSettled((written) => void woken.push(written))
    await clock.settle()
    writer.add(line('y'))
    writer.whenSettled((written) => void woken.push(written))
    const closed = writer.close()
    await clock.advance(limits.auditCloseMsMax)
    await closed
    assert.equal(lost.log, 2)
    assert.deepEqual(woken, [false, false], 'no call waits for a dead disk')
    // The disk responds after all: nothing more is written, counted or reported.
    go()
    await clock.settle()
    assert.deepEqual([files.appends, lost.log], [['last\n', 'x\n'], 2])
    assert.match(reported.join('\n'), /the disk does not respond.*"lost":2/)
  })
})

void describe('a disk that fails', () => {
  void test('a disk that fails loses its lines, which is logged once a minute, and later lines are tried again', async () => {
    const writer = await open()
    const woken: boolean[] = []
    files.broken = 'ENOSPC: no space left'
    for (let count = 0; count < 3; count++) {
      writer.add(line('gone'))
      writer.whenSettled((written) => void woken.push(written))
      await clock.settle()
    }
    assert.deepEqual(woken, [false, false, false])
    assert.equal(lost.log, 3)
    assert.equal(reported.length, 1)
    assert.match(reported[0] ?? '', /^error audit events are lost: free space.*ENOSPC.*"lost":1/)
    await clock.advance(limits.auditReportMs)
    writer.add(line('gone'))
    await clock.settle()
    assert.match(reported[1] ?? '', /"lost":4/)
    files.broken = null
    writer.add(line('back'))
    await clock.settle()
    assert.equal(files.contents.get(path), 'back\n')
    assert.match(reported[2] ?? '', /^info audit events are written again.*"lost":4/)
    writer.add(line('more'))
    await clock.settle()
    assert.equal(reported.length, 3)
    await writer.close()
  })

  void test('a disk that hangs uses bounded memory, in lines and in bytes', async () => {
    const writer = await open({ bytesMax: Infinity })
    const go = holdUp()
    writer.add(line('under way'))
    await clock.settle()
    for (let count = 0; count < limits.auditBufferLinesMax; count++) assert.ok(writer.add(line('x')))
    assert.ok(!writer.add(line('one too many')))
    assert.deepEqual(lost, { log: 0, buffered: 1 })
    go()
    await clock.settle()
    const goAgain = holdUp()
    const big = Buffer.alloc(limits.auditEventBytesMax, 0x61)
    writer.add(line('under way'))
    await clock.settle()
    const most = Math.floor(limits.auditBufferBytesMax / big.byteLength)
    for (let count = 0; count < most; count++) {
      assert.equal(writer.isFull, count >= most / 2, `${count}`)
      assert.ok(writer.add(big))
    }
    assert.ok(!writer.add(big))
    assert.equal(lost.buffered, 2)
    goAgain()
    await writer.close()
    assert.ok(files.appends.every((text) => text.length <= limits.auditWriteBytesMax))
    assert.equal(writer.isFull, false)
    assert.deepEqual(lost, { log: 0, buffered: 2 })
  })
})

void describe('a full file', () => {
  void test('a full file is renamed between lines, with the time at which it was full, and nothing is lost', async () => {
    const writer = await open({ bytesMax: 100 })
    const lines = Array.from({ length: 40 }, (_, at) => `line ${String(at).padStart(3, '0')}`)
    for (const [at, text] of lines.entries()) {
      writer.add(line(text))
      if (at % 7 === 0) await clock.settle()
    }
    await clock.settle()
    const paths = [...files.contents.keys()].sort()
    assert.equal(paths.length, 4)
    assert.ok([...files.contents.values()].every((text) => text.length <= 100 && text.endsWith('\n')))
    const backups = paths.filter((one) => one !== path)
    for (const one of backups) assert.match(one, /^\/var\/log\/audit-2023-11-14T22-13-21\.00\d\.log$/)
    const all = [...backups, path].map((one) => files.contents.get(one) ?? '').join('')
    assert.deepEqual(all.trimEnd().split('\n'), lines)
    await writer.close()
  })

  void test('a full file that cannot be renamed continues to grow, and is tried again at twice the size', async () => {
    const writer = await open({ bytesMax: 100 })
    files.brokenRename = 'EPERM'
    for (let at = 0; at < 25; at++) {
      writer.add(line('0123456'))
      await clock.settle()
    }
    assert.equal(reported.filter((words) => words.includes('cannot be rotated')).length, 2)
    assert.equal(lost.log, 0)
    assert.equal(files.contents.get(path)?.length, 200)
    files.brokenRename = null
    for (let at = 0; at < 20; at++) {
      writer.add(line('0123456'))
      await clock.settle()
    }
    assert.equal(files.contents.size, 2)
    await writer.close()
  })

  void test('old files are deleted, by number and by age, and no others', () => {
    const at = (ms: number): string => backupName('audit.log', ms)
    const day = 86_400_000
    const nowMs = 1_767_323_045_678
    const there = [at(nowMs - 3 * day), at(nowMs - day), at(nowMs), 'audit.log', 'audit-old.log', 'x.txt']
    const expired = (countMax: number, ageMsMax: number): readonly string[] =>
      expiredBackups('audit.log', there, { countMax, ageMsMax, nowMs })
    assert.equal(at(nowMs), 'audit-2026-01-02T03-04-05.678.log')
    assert.deepEqual(expired(0, 0), [])
    assert.deepEqual(expired(2, 0), [at(nowMs - 3 * day)])
    assert.deepEqual(expired(1, 0), [at(nowMs - day), at(nowMs - 3 * day)])
    assert.deepEqual(expired(0, 2 * day), [at(nowMs - 3 * day)])
    assert.deepEqual(
      expiredBackups('log', ['log-2026-01-02T03-04-05.678'], { countMax: 0, ageMsMax: 1, nowMs: nowMs + 2 }),
      ['log-2026-01-02T03-04-05.678'],
    )
  })

  void test('old files are deleted at the start and at each rotation', async () => {
    for (const day of ['01', '02', '03'])
      files.contents.set(`/var/log/audit-2023-01-${day}T00-00-00.000.log`, '')
    const writer = await open({ bytesMax: 10, backupsMax: 2 })
    assert.equal(files.contents.size, 3)
    for (let at = 0; at < 6; at++) {
      writer.add(line('01234567'))
      await clock.advance(1)
    }
    assert.equal(files.contents.size, 3)
    assert.ok([...files.contents.keys()].every((one) => !one.includes('2023-01')))
    await writer.close()
  })
})
