/*
 * Goal: results are printed as a table, as JSON that can be parsed again, and as a self-contained
 * page.
 * Method: a report by hand; names are made to look like markup; two results are compared; files
 * that are not results.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compare } from '../../../bench/tool/compare.ts'
import { BenchError } from '../../../bench/tool/errors.ts'
import { labelOf, workloads } from '../../../bench/tool/load.ts'
import type { Sample } from '../../../bench/tool/measures.ts'
import { spreadOf, spreadText } from '../../../bench/tool/measures.ts'
import { pageOf } from '../../../bench/tool/page.ts'
import { barPlot, rangePlot } from '../../../bench/tool/page-plots.ts'
import { planOf, wholeSelection } from '../../../bench/tool/plan.ts'
import { jsonOf, parseResults } from '../../../bench/tool/report.ts'
import type { BenchReport } from '../../../bench/tool/report.ts'
import { markdownOf, textOf } from '../../../bench/tool/tables.ts'
import { formatTable } from '../../../src/cli/terminal.ts'

const sample: Sample = {
  ...{ perSecond: 1000, p50Ms: 1.5, p90Ms: 2, p99Ms: 5, p999Ms: 40, maxMs: 41, operations: 5000 },
  ...{ serverCpuMs: 0.1, generatorCpuMs: 0.03, generatorShare: 0.2, generatorBusy: 0.4, memoryMiB: 200 },
  ...{ delivered: 9000, lost: 0, resumed: 0, eventsPerSecond: 100, openMs: 20, failed: 0 },
  ...{ staleShare: 0.01, staleP99Ms: 3, staleMaxMs: 12, boundMs: 100, writesPerSecond: 400 },
  ...{ writeGapMs: 600, readGapMs: 500 },
}

function report(change: Sample = {}, rounds = 3): BenchReport {
  const plan = planOf(wholeSelection, {
    modes: ['linearizable', 'lease', 'bounded', 'any', 'log'],
    ...{ http: ['1.1'], hasRoles: true, canFail: true },
  })
  return {
    environment: {
      ...{ commit: 'abc', node: 'v20', system: 'Linux', processors: 2 },
      ...{ processor: '<script>alert(1)</script>', memoryGiB: 24 },
    },
    run: {
      ...{ startedMs: 0, durationMs: 60_000, seconds: 5, rounds, threads: 2, endpoints: ['<b>n1', 'n2'] },
      ...{ server: 'v1', isLocal: true, loadBefore: 0.1, loadAfter: 2 },
    },
    rows: plan.map((load) => ({
      ...{ load, label: labelOf(load), failures: [] },
      rounds: Array.from({ length: rounds }, (_, at) => ({ ...sample, perSecond: 1000 + at, ...change })),
    })),
    notes: ['a note with <i>'],
  }
}

void test('a spread is the median, the lowest and the highest round', () => {
  const rounds = [5, 1, 9, 3].map((perSecond) => ({ perSecond }))
  assert.deepEqual(spreadOf(rounds, 'perSecond'), { median: 3, lowest: 1, highest: 9 })
  assert.equal(spreadText(spreadOf(rounds, 'perSecond'), 'perSecond'), '3 (1-9)')
  assert.equal(spreadText(spreadOf([{ p50Ms: 1.234 }], 'p50Ms'), 'p50Ms'), '1.23')
  assert.equal(spreadText(spreadOf(rounds, 'p50Ms'), 'p50Ms'), '-')
})

void test('the page is self-contained, draws everything, and escapes markup', () => {
  const page = pageOf(report())
  assert.doesNotMatch(page, /<script|<link|<img|<i>|<b>|@import|url\(|src=|href=/)
  assert.match(page, /&#60;script&#62;/)
  assert.match(page, /1001 \(1000-1002\)/)
  assert.equal(page.match(/<h2>/g)?.length, workloads.length)
  assert.ok((page.match(/<svg/g)?.length ?? 0) > 20)
  assert.doesNotMatch(page, /NaN|Infinity|undefined/)
  for (const tag of ['table', 'svg', 'details', 'div', 'g', 'tr', 'td', 'text']) {
    const count = (words: RegExp): number => page.match(words)?.length ?? 0
    assert.equal(count(new RegExp(`<${tag}[ >]`, 'g')), count(new RegExp(`</${tag}>`, 'g')), tag)
  }
  const bare = {
    ...report(),
    rows: report().rows.map((row) => ({ ...row, rounds: [{ perSecond: 0, p50Ms: 0 }] })),
  }
  assert.doesNotMatch(pageOf(bare), /NaN|Infinity|undefined/)
  assert.doesNotMatch(pageOf({ ...report(), rows: [] }), /NaN|Infinity|undefined/)
})

void test('plots escape markup in labels, and are finite without data', () => {
  const label = '<b>&"'
  const spread = { median: 1, lowest: 0.5, highest: 2 }
  const drawn = [
    barPlot([{ label, colour: '#000', spread, limit: 3 }], 'ms'),
    rangePlot([{ label, colour: '#000', values: [0.5, 1, 20] }], 'ms'),
    barPlot([], 'ms'),
    rangePlot([{ label, colour: '#000', values: [0] }], 'ms'),
    rangePlot([{ label, colour: '#000', values: [1e-3, 1e7] }], 'ms'),
  ]
  for (const plot of drawn) {
    assert.doesNotMatch(plot, /<b>|NaN|Infinity|undefined/)
    assert.ok(plot.length < 4000, plot)
  }
})

void test('results include a note about other work of the machine, a generator at its limit, and failures', () => {
  const quiet = textOf(report(), formatTable).join('\n')
  assert.match(quiet, /^commit abc, server v1, Node v20, 2 x /)
  assert.doesNotMatch(quiet, /\(!\)|other work/)
  const { run, ...rest } = report({ generatorBusy: 0.95 })
  const [row] = rest.rows
  assert.ok(row !== undefined)
  const failing = { ...row, failures: [{ words: 'HTTP 429', count: 7 }] }
  const loud = textOf({ ...rest, run: { ...run, loadBefore: 3 }, rows: [failing] }, formatTable).join('\n')
  assert.match(loud, /1 client \(!\)/)
  assert.match(loud, /note: the machine had other work before \(load 3\.00\)/)
  assert.match(loud, /1 client: 7 x HTTP 429/)
  assert.match(textOf(report({ generatorShare: 0.6 }), formatTable).join('\n'), /\(!\)/)
  assert.match(
    markdownOf(report()).join('\n'),
    /\n\| get, linearizable, the leader, 1 KB, 1 client \| 1001 \(1000-1002\) \|/,
  )
})

void test('results are parsed again, and a file without results is refused by name', () => {
  const results = parseResults(jsonOf(report()), 'a.json')
  assert.equal(results.commit, 'abc')
  assert.deepEqual(results.rows.get('leader killed (-9)')?.[0], { ...sample, perSecond: 1000 })
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['{', /a\.json is not JSON as orchctl bench writes it/],
    ['[]', /a\.json is not JSON as/],
    ['{"schema":"other"}', /its schema is not orchctl-bench\/1/],
    ['{"schema":"orchctl-bench/1"}', /has no rows/],
    ['{"schema":"orchctl-bench/1","rows":[{"label":"x"}]}', /a row without rounds/],
  ]
  for (const [text, why] of wrong) {
    assert.throws(
      () => parseResults(text, 'a.json'),
      (cause) => cause instanceof BenchError && cause.code === 'results' && why.test(cause.message),
      text,
    )
  }
})

void test('a comparison is the second result divided by the first, marked only where the rounds do not overlap', () => {
  const results = (change: (at: number) => Sample) => {
    const rounds = [0, 1, 2].map(change)
    return {
      commit: 'c',
      rows: new Map([
        ['get', rounds],
        ['list', [{ perSecond: 1 }]],
      ]),
    }
  }
  const first = results((at) => ({ perSecond: 100 + at, p50Ms: 10 + at, serverCpuMs: 1 + at }))
  const second = results((at) => ({ perSecond: 200 + at, p50Ms: 20 + at, serverCpuMs: 2 + at }))
  second.rows.delete('list')
  const { rows, alone } = compare(first, second)
  assert.deepEqual(rows, [
    ['work', 'rate', 'p50', 'CPU of servers'],
    ['get', '1.99 +', '1.91 -', '1.50'],
  ])
  assert.deepEqual(alone, ['list'])
})
