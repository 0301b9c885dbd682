/*
 * Goal: a recording is read as it was written, and other files are refused in one line.
 * Method: a scripted history through a file; the file truncated and changed; faults and their
 * times.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { VerifyError } from '../../../../tools/verify/errors.ts'
import { checkFaults, readFaults } from '../../../../tools/verify/faults.ts'
import { HistoryBuilder } from '../../../../tools/verify/history-builder.ts'
import { HistoryFile, readHistory } from '../../../../tools/verify/history-file.ts'
import { historyFormat } from '../../../../tools/verify/history-lines.ts'
import { checkHistory } from '../../../../tools/verify/check-history.ts'
import { verifyLimits } from '../../../../tools/verify/limits.ts'
import { HistoryScript, exactly, notOlder } from './history-script.ts'

async function inFile(body: (path: string) => Promise<void> | void): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'verify-'))
  try {
    await body(join(directory, 'history.jsonl'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function sampleHistory(): HistoryScript {
  return new HistoryScript()
    .list(4, [])
    .create('a@5')
    .update('a@6', 'a@5')
    .get('a@6', notOlder(6))
    .list(6, ['a@6'], exactly(6))
    .unknown({ kind: 'delete', name: 'a', expected: null })
    .missing('a')
    .pages([{ revision: 8, shown: [], left: null }])
    .watch(4, [
      ['ADDED', 'a@5'],
      ['BOOKMARK', 5],
      ['MODIFIED', 'a@6'],
    ])
    .copy('n1', 8, ['a@6'])
}

async function write(path: string, script: HistoryScript): Promise<void> {
  const { facts, calls, watches, copies, lastRevision, endedMs } = script.history()
  const file = new HistoryFile(path)
  file.write({ line: 'run', format: historyFormat, ...facts })
  for (const call of calls) file.write({ line: 'call', ...call })
  for (const { events, end, ...watch } of watches) {
    file.write({ line: 'watch', ...watch })
    for (const event of events) file.write({ line: 'event', watch: watch.id, ...event })
    file.write({ line: 'watch-end', watch: watch.id, why: end })
  }
  for (const copy of copies) file.write({ line: 'copy', ...copy })
  file.write({ line: 'end', lastRevision, endedMs })
  await file.untilWritable()
  await file.close()
}

void test('a history is read as it was written, with the same verdict', async () => {
  await inFile(async (path) => {
    const script = sampleHistory()
    await write(path, script)
    const read = await readHistory(path)
    const options = { balanced: false }
    assert.deepEqual(checkHistory(read, options), checkHistory(script.history(), options))
    const lineless = (calls: readonly object[]): object[] =>
      calls.map((call) => Object.fromEntries(Object.entries(call).filter(([key]) => key !== 'line')))
    assert.deepEqual(lineless(read.calls), script.history().calls)
    assert.equal(read.calls[1]?.answer.kind, 'object')
    const versions = read.watches[0]?.events.map(({ version }) => version)
    assert.equal(versions?.[0], read.calls[1]?.answer.kind === 'object' ? read.calls[1].answer.version : null)
  })
})

void test('a truncated last line is skipped, other damage is reported with its line', async () => {
  await inFile(async (path) => {
    await write(path, sampleHistory())
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.slice(0, -10))
    assert.equal((await readHistory(path)).lastRevision, null, 'its end is missing')
    const lines = text.split('\n')
    const spoil = async (change: (lines: string[]) => void): Promise<string> => {
      const spoiled = [...lines]
      change(spoiled)
      writeFileSync(path, spoiled.join('\n'))
      try {
        await readHistory(path)
      } catch (cause) {
        assert.ok(cause instanceof VerifyError)
        return cause.message
      }
      return 'read'
    }
    assert.match(
      await spoil((all) => (all[2] = '{"line":')),
      /^cannot read line 3 of .*: it is not JSON: it is damaged, record again$/,
    )
    assert.match(
      await spoil((all) => (all[2] = '{"line":"wall"}')),
      /line 3 of .*"wall" is not a kind of line/,
    )
    assert.match(
      await spoil((all) => (all[2] = all[2]?.replace('"begin":', '"bogin":') ?? '')),
      /begin is not a number/,
    )
    assert.match(await spoil((all) => all.shift()), /does not begin with the header/)
    assert.match(
      await spoil((all) => (all[0] = all[0]?.replace('"format":1', '"format":9') ?? '')),
      /format 9/,
    )
    assert.match(await spoil((all) => all.splice(0)), /it is empty/)
  })
  await assert.rejects(readHistory('/nonexistent/history'), /cannot read \/nonexistent\/history/)
})

void test('a file that is not a recording is refused in one line with its name and the remedy', async () => {
  const bytes = new SeededRandom(7).bytes(100_000)
  const foreign: readonly (readonly [what: string, content: string | Uint8Array, why: RegExp])[] = [
    ['empty', '', /it is empty/],
    ['blank lines', '\n\n', /it is not JSON/],
    ['a program', bytes, /it is not JSON/],
    ['one line of text', 'hello', /it is not JSON/],
    ['half a line of JSON', '{"kind":"Li', /it is not JSON/],
    ['JSON of another tool', '{"kind":"List","items":[]}\n', /line is not a string/],
    ['JSON over several lines', '{\n  "kind": "List"\n}\n', /it is not JSON/],
    ['a list', '[1,2]\n', /it is not a JSON object/],
    [
      'a recording of another version',
      '{"line":"run","format":9,"seed":1,"namespace":"a","members":[],"startedMs":1}\n',
      /it is in format 9, this program reads format 1/,
    ],
    ['a line without end', new Uint8Array(verifyLimits.lineBytesMax + 1), /a line is too long/],
  ]
  await inFile(async (path) => {
    for (const [what, content, why] of foreign) {
      writeFileSync(path, content)
      const { message } = await refusal(readHistory(path))
      assert.match(
        message,
        /^cannot read [^\n\ufffd\0]*history\.jsonl: .*: give a file that was recorded by --save$/,
        what,
      )
      assert.match(message, why, what)
    }
  })
})

async function refusal(reading: Promise<unknown>): Promise<VerifyError> {
  const cause = await reading.then(
    () => assert.fail('it was read'),
    (failure: unknown) => failure,
  )
  assert.ok(cause instanceof VerifyError)
  return cause
}

void test('a history over the size limit is refused', () => {
  const builder = new HistoryBuilder()
  const { facts, calls } = sampleHistory().history()
  builder.add({ line: 'run', format: historyFormat, ...facts })
  const call = calls[1] ?? assert.fail('it has calls')
  const add = (): void => {
    for (let at = 0; at <= verifyLimits.recordsMax; at++) builder.add({ line: 'call', ...call })
  }
  assert.throws(add, (cause) => cause instanceof VerifyError && cause.code === 'too-long')
})

void test('a failed write is reported in one line', async () => {
  const file = new HistoryFile('/nonexistent/history')
  file.write({ line: 'end', lastRevision: null, endedMs: 0 })
  await assert.rejects(file.close(), /^VerifyError: cannot write \/nonexistent\/history/)
})

void test('fault times are ms since the start of the recording or since 1970', async () => {
  await inFile((path) => {
    const startedMs = 1_800_000_000_000
    writeFileSync(
      path,
      '{"atMs":1800000005000,"endMs":1800000006000,"kind":"kill","target":"n1"}\n\n{"atMs":40,"kind":"pause","target":"n2"}\n',
    )
    assert.deepEqual(readFaults(path, startedMs), [
      { atMs: 40, endMs: null, kind: 'pause', target: 'n2' },
      { atMs: 5000, endMs: 6000, kind: 'kill', target: 'n1' },
    ])
    writeFileSync(path, '{"atMs":40,"kind":"pause","target":"n2"}\nnonsense\n')
    assert.throws(() => readFaults(path, startedMs), /^VerifyError: line 2 of .* is not/)
  })
})

void test('a partly written file of faults is accepted, an unreadable path is refused at once', async () => {
  await inFile((path) => {
    checkFaults(path)
    writeFileSync(path, '{"atMs":40,"kind":"pause","target":"n2"}\n{"atMs":4')
    checkFaults(path)
    for (const [place, words] of [
      [
        join(path, 'faults'),
        /^cannot read .*faults \(ENOTDIR\): give the file that chaos run --record writes/,
      ],
      [join(path, '..', 'none', 'faults'), /^cannot read .*faults \(ENOENT\): give/],
      [join(path, '..'), /^cannot read .* \(EISDIR\): give/],
    ] as const) {
      assert.throws(
        () => checkFaults(place),
        (cause) => cause instanceof VerifyError && words.test(cause.message),
        place,
      )
    }
    writeFileSync(path, 'nonsense\n')
    assert.throws(() => checkFaults(path), /^VerifyError: line 1 of .* is not/)
  })
})
