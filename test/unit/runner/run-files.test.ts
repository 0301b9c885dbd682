/*
 * Goal: any test file ends within its time limit with all processes that it started; its failure is
 * reported by name, and the other files run.
 * Method: files that were written for it: a test that waits for ever, one that blocks the event
 * loop, a process that continues after its tests, servers that are left behind, files that end as
 * they should or before they should.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runFiles } from '../../runner/run-files.ts'
import type { FileOptions, FileResult } from '../../runner/run-files.ts'

const directory = mkdtempSync(join(tmpdir(), 'run-files-'))
const never = new AbortController().signal
let files = 0

type Ran = FileResult & { readonly given: readonly string[] }

type Limits = Partial<Pick<FileOptions, 'seconds' | 'signal' | 'yields'>>

/**
 * The limit of 60 s is for files that are not expected to be ended, because a start is slow on a
 * busy machine.
 */
async function ran(code: string, limits: Limits = {}): Promise<Ran> {
  const file = join(directory, `${files++}.test.mjs`)
  const imports = [
    `import { spawn } from 'node:child_process'`,
    `import { writeFileSync } from 'node:fs'`,
    `import { describe, test } from 'node:test'`,
  ]
  writeFileSync(file, [...imports, code].join('\n'))
  const given: string[] = []
  const say = (line: string): void => void given.push(line)
  const options = { seconds: 60, graceMs: 1000, signal: never, ...limits, say }
  const [result] = await runFiles([file], options)
  assert.ok(result !== undefined)
  return { ...result, given }
}

/** Enough to reach the tests of a file on any machine. */
const slowStartSeconds = 15

const whys = ({ failures }: FileResult): readonly string[] => failures.map(({ why }) => why)

/** Waits until the process has ended; one whose exit code was not read yet counts as ended. */
async function assertGone(pidFile: string): Promise<void> {
  const pid = readFileSync(pidFile, 'utf8')
  const path = `/proc/${pid}/cmdline`
  for (let look = 0; existsSync(path) && readFileSync(path, 'utf8') !== ''; look++) {
    assert.ok(look < 6000, `${pid} still runs`)
    await sleep(10)
  }
}

/** Returns code that starts a detached process that never ends, and writes its PID to a file. */
const lasting = (pidFile: string): string =>
  `const words = ['-e', 'setInterval(() => undefined, 1000)']
   const child = spawn(process.execPath, words, { detached: true, stdio: 'inherit' })
   child.unref()
   writeFileSync(${JSON.stringify(pidFile)}, String(child.pid))`

// The tests run at the same time, because they wait most of the time.
void describe('running one test file', { concurrency: 4 }, () => {
  after(() => rmSync(directory, { recursive: true }))

  void test('running a file counts passed, failed and skipped tests, with the reasons', async () => {
    const result = await ran(`
      console.log('# a word')
      console.log('noise')
      void describe('group', () => {
        void test('one', () => undefined)
        void test('two', () => { throw new Error('no good') })
      })
      void test('three', { skip: 'not here' }, () => undefined)`)
    assert.equal(result.passed, 1)
    assert.deepEqual(
      result.failures.map(({ test }) => test),
      ['two'],
    )
    assert.match(whys(result)[0] ?? '', /^Error: no good\n +at /)
    assert.deepEqual(
      result.skipped.map(({ test, why }) => `${test}: ${why}`),
      ['three: not here'],
    )
    assert.deepEqual(result.given, ['a word'])
  })

  void test('a test that waits for ever is ended with its processes and named', async () => {
    const pidFile = join(directory, 'pid-waits')
    const result = await ran(
      `test('quick', () => undefined)
       void test('waits', async () => {
         ${lasting(pidFile)}
         await new Promise((resolve) => setInterval(() => undefined, 1000))
       })`,
      { seconds: slowStartSeconds },
    )
    assert.equal(result.passed, 1)
    assert.deepEqual(whys(result), [`it did not end within ${slowStartSeconds} s, and was ended in "waits"`])
    await assertGone(pidFile)
  })

  void test('a test that blocks the event loop is ended and reported', async () => {
    const result = await ran(`test('spins', () => { for (;;) ; })`, { seconds: 3 })
    assert.match(whys(result)[0] ?? '', /^it did not end within 3 s/)
  })

  void test('a process that outlives its tests is ended and reported', async () => {
    const result = await ran(`test('quick', () => { setInterval(() => undefined, 1000) })`, {
      seconds: slowStartSeconds,
    })
    assert.equal(result.passed, 1)
    assert.deepEqual(whys(result), [
      `it did not end within ${slowStartSeconds} s, and was ended after all of its 1 tests`,
    ])
  })

  void test('a leftover child process is ended and reported', async () => {
    const pidFile = join(directory, 'pid-left')
    const result = await ran(`test('quick', () => { ${lasting(pidFile)} })`)
    assert.equal(result.passed, 1)
    assert.match(whys(result).join('; '), /^it left a process behind: \d+, .*setInterval[^;]*$/)
    await assertGone(pidFile)
  })

  void test('a file without tests, and one that exits or is killed within a test, fail', async () => {
    assert.deepEqual(whys(await ran('')), ['it ran no test'])
    assert.deepEqual(whys(await ran(`test('a', () => process.exit(0))`)), ['it ran no test'])
    assert.deepEqual(whys(await ran(`test('a', () => process.kill(process.pid, 'SIGKILL'))`)), [
      'it ended with SIGKILL',
    ])
  })

  void test('an error in the hooks of a group fails the file', async () => {
    const result = await ran(`
      import { after } from 'node:test'
      void describe('group', () => {
        after(() => { throw new Error('not removed') })
        void test('one', () => undefined)
      })`)
    assert.match(whys(result).join('; '), /Error: not removed/)
  })

  void test('files that share a process have results of their own, with hooks of their own', async () => {
    const written = (name: string, code: string): string => {
      const file = join(directory, `${name}.test.mjs`)
      writeFileSync(file, `import { beforeEach, test } from 'node:test'\n${code}`)
      return file
    }
    const together = [
      written('hook', `beforeEach(() => { throw new Error('hook') }); void test('one', () => undefined)`),
      written('good', `void test('one', () => undefined)`),
      written('broken', `throw new Error('not loaded')`),
      written('later', `void test('one', () => undefined)`),
    ]
    const options = { seconds: 60, graceMs: 1000, signal: never, say: () => undefined }
    const results = await runFiles(together, options)
    assert.deepEqual(
      results.map(({ file, passed, failures }) => ({
        file: basename(file, '.test.mjs'),
        passed,
        failures: failures.map(({ test, why }) => `${test}: ${why.split('\n')[0]}`),
      })),
      [
        { file: 'hook', passed: 0, failures: ['one: Error: hook'] },
        { file: 'good', passed: 1, failures: [] },
        { file: 'broken', passed: 0, failures: ['null: Error: not loaded'] },
        { file: 'later', passed: 1, failures: [] },
      ],
    )
  })

  void test('a file that did not begin because an earlier file of its process used up the time is named', async () => {
    const written = (name: string, code: string): string => {
      const file = join(directory, `${name}.test.mjs`)
      writeFileSync(file, `import { test } from 'node:test'\n${code}`)
      return file
    }
    const together = [
      written('waits', `void test('waits', () => new Promise(() => setInterval(() => 0, 1000)))`),
      written('after', `void test('one', () => undefined)`),
    ]
    const options = { seconds: slowStartSeconds, graceMs: 1000, signal: never, say: () => undefined }
    const [waits, following] = await runFiles(together, options)
    assert.ok(waits !== undefined && following !== undefined)
    assert.deepEqual(whys(waits), [`it did not end within ${slowStartSeconds} s, and was ended in "waits"`])
    assert.deepEqual(whys(following), ['it did not begin: a file before it used up the time'])
  })

  void test('a file that yields, and what it starts, has the lowest priority', async () => {
    const code = `
      import { spawnSync } from 'node:child_process'
      import { getPriority } from 'node:os'
      void test('one', () => {
        const words = ['-p', 'os.getPriority()']
        console.log('# ' + getPriority() + ' ' + spawnSync(process.execPath, words).stdout)
      })`
    assert.deepEqual((await ran(code, { yields: true })).given, ['19 19'])
    const usual = getPriority()
    assert.deepEqual((await ran(code)).given, [`${usual} ${usual}`])
  })

  void test('a running file stops on a signal', async () => {
    const stopper = new AbortController()
    const running = ran(`test('waits', () => new Promise(() => setInterval(() => 0, 1000)))`, {
      signal: stopper.signal,
    })
    setTimeout(() => stopper.abort(), 1500)
    assert.match(whys(await running).join('; '), /^it was ended .*: the time of its suite was used up$/)
  })
})
