/*
 * Goal: findings are printed as text and on a self-contained page.
 * Method: reports of histories by hand; responses of a server look like markup.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHistory } from '../../../../tools/verify/check-history.ts'
import { pageOf } from '../../../../tools/verify/page.ts'
import { reportOf, textOf } from '../../../../tools/verify/report.ts'
import type { Report } from '../../../../tools/verify/report.ts'
import { HistoryScript } from './history-script.ts'

function report(script: HistoryScript): Report {
  const history = script.history()
  const faults = [
    { atMs: 2, endMs: 4, kind: 'kill', target: 'n1' },
    { atMs: 5, endMs: null, kind: 'pause', target: '<script>alert(1)</script>' },
  ]
  return reportOf(
    { history, judgement: checkHistory(history, { balanced: false }), notes: ['a note'] },
    { faults, history: '/somewhere/history.jsonl' },
  )
}

function stale(): HistoryScript {
  return new HistoryScript().create('a@5').get('a@5').update('a@6', 'a@5').get('a@6').get('a@5')
}

void test('the summary has the anomaly, its minimal history, and the path of the recording', () => {
  const lines = textOf(report(stale()))
  const text = lines.join('\n')
  assert.match(lines[0] ?? '', /^ANOMALY: .*stale-read/)
  assert.match(text, /stale-read \(a most recent read missed a change that was known before the read began\)/)
  assert.match(text, /c1 at n1 \[.*\]: get a, most recent -> a version 5/)
  assert.match(text, /note: a note/)
  assert.match(text, /the recording: \/somewhere\/history.jsonl/)
  assert.match(textOf(report(new HistoryScript())).join('\n'), /^UNDECIDED: .*no such calls were recorded/)
})

void test('the page is self-contained, draws faults and anomalies, and escapes markup', () => {
  const script = stale()
  const page = pageOf(report(script), script.history())
  assert.doesNotMatch(page, /<script|<link|<img|@import|url\(|src=|href=/)
  assert.match(page, /&#60;script&#62;alert\(1\)&#60;\/script&#62;/)
  assert.match(page, /<title>kill n1, 0\.002 s to 0\.004 s<\/title>/)
  assert.match(page, /<title>stale-read at /)
  assert.match(page, /<svg [^>]*aria-label="timeline"/)
  assert.doesNotMatch(page, /NaN|Infinity|undefined/)
  const empty = new HistoryScript()
  assert.doesNotMatch(pageOf(report(empty), empty.history()), /NaN|Infinity|undefined/)
})

void test('a thousand anomalies are counted, and few are printed', () => {
  const script = new HistoryScript().create('a@5').get('a@5').update('a@6', 'a@5').get('a@6')
  for (let at = 0; at < 1000; at++) script.create(`b${at}@${at + 100}`).create(`c${at}@${at + 50}`)
  const { checks } = report(script)
  const realTime = checks.find(({ check }) => check === 'revisions follow real time')
  assert.equal(realTime?.anomalies.length, 20)
  assert.ok(realTime.unreported > 900)
  assert.ok(textOf(report(script)).length < 80)
})
