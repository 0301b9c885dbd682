/*
 * Goal: a recording is read as it was written, and what is no recording is refused in one line.
 * Method: a told history through a file; the file cut and changed; faults and their times.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { VerifyFailure } from '../../../../src/verify/errors.ts'
import { readFaults } from '../../../../src/verify/faults.ts'
import { HistoryBuilder } from '../../../../src/verify/history-builder.ts'
import { HistoryFile, readHistory } from '../../../../src/verify/history-file.ts'
import { historyFormat } from '../../../../src/verify/history-lines.ts'
import { judge } from '../../../../src/verify/judge.ts'
import { verifyLimits } from '../../../../src/verify/limits.ts'
import { Tale, exactly, notOlder } from './tale.ts'

async function inFile(body: (path: string) => Promise<void> | void): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'verify-'))
  try {
    await body(join(directory, 'history.jsonl'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function told(): Tale {
  return new Tale()
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

async function write(path: string, tale: Tale): Promise<void> {
  const { facts, calls, watches, copies, lastRevision, endedMs } = tale.history()
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
  await file.room()
  await file.close()
}

void test('what is read is what was written, and is judged alike', async () => {
  await inFile(async (path) => {
    const tale = told()
    await write(path, tale)
    const read = await readHistory(path)
    const options = { balanced: false }
    assert.deepEqual(judge(read, options), judge(tale.history(), options))
    const lineless = (calls: readonly object[]): object[] =>
      calls.map((call) => Object.fromEntries(Object.entries(call).filter(([key]) => key !== 'line')))
    assert.deepEqual(lineless(read.calls), tale.history().calls)
    assert.equal(read.calls[1]?.answer.kind, 'object')
    const versions = read.watches[0]?.events.map(({ version }) => version)
    assert.equal(versions?.[0], read.calls[1]?.answer.kind === 'object' ? read.calls[1].answer.version : null)
  })
})

void test('a last line that is cut short is left out, any other damage is named with its line', async () => {
  await inFile(async (path) => {
    await write(path, told())
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
        assert.ok(cause instanceof VerifyFailure)
        return cause.message
      }
      return 'read'
    }
    assert.match(await spoil((all) => (all[2] = '{"line":')), /^cannot read line 3 of /)
    assert.match(await spoil((all) => (all[2] = '{"line":"wall"}')), /line 3 of .*"wall" is no kind of line/)
    assert.match(
      await spoil((all) => (all[2] = all[2]?.replace('"begin":', '"bogin":') ?? '')),
      /begin is no number/,
    )
    assert.match(await spoil((all) => all.shift()), /does not begin with the facts/)
    assert.match(
      await spoil((all) => (all[0] = all[0]?.replace('"format":1', '"format":9') ?? '')),
      /format 9/,
    )
    assert.match(await spoil((all) => all.splice(0)), /it is empty/)
  })
  await assert.rejects(readHistory('/nonexistent/history'), /cannot read \/nonexistent\/history/)
})

void test('a history beyond what is checked is refused, with what to do', () => {
  const builder = new HistoryBuilder()
  const { facts, calls } = told().history()
  builder.add({ line: 'run', format: historyFormat, ...facts })
  const call = calls[1] ?? assert.fail('it has calls')
  const add = (): void => {
    for (let at = 0; at <= verifyLimits.recordsMax; at++) builder.add({ line: 'call', ...call })
  }
  assert.throws(add, (cause) => cause instanceof VerifyFailure && cause.code === 'too-long')
})

void test('what cannot be written is said in one line', async () => {
  const file = new HistoryFile('/nonexistent/history')
  file.write({ line: 'end', lastRevision: null, endedMs: 0 })
  await assert.rejects(file.close(), /^VerifyFailure: cannot write \/nonexistent\/history/)
})

void test('faults are at ms of the recording or since 1970', async () => {
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
    assert.throws(() => readFaults(path, startedMs), /^VerifyFailure: line 2 of .* is not/)
  })
})
