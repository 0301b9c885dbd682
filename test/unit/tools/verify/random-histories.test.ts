/*
 * Goal: a correct cluster has no anomalies, and one violation is always found where it is
 * observable.
 * Method: random histories of a cluster that is correct by construction, though its members lag and
 * outcomes are lost; then one response or event of each history is changed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import type { AnomalyKind } from '../../../../tools/verify/finding.ts'
import type { History, Watch } from '../../../../tools/verify/history.ts'
import { checkHistory } from '../../../../tools/verify/check-history.ts'
import { rounds } from '../../../support/fixtures/variants.ts'
import { CorrectCluster } from './correct-cluster.ts'

const first = Number(process.env['SEED'] ?? 1)
const seeds = process.env['SEED'] === undefined ? rounds(200, 400) : 1
const repeat = (seed: number): string =>
  `repeat: SEED=${seed} node --test dist/test/unit/tools/verify/random-histories.test.js`

function historyOf(seed: number): { readonly history: History; readonly random: SeededRandom } {
  const random = new SeededRandom(seed)
  return { history: new CorrectCluster(random).run(100 + random.below(900)), random }
}

function found(history: History): ReadonlySet<AnomalyKind> {
  const { checks } = checkHistory(history, { balanced: false })
  return new Set(checks.flatMap(({ anomalies }) => anomalies.map(({ kind }) => kind)))
}

void test('a correct cluster has no anomalies', () => {
  let [ok, calls, unknown] = [0, 0, 0]
  for (let seed = first; seed < first + seeds; seed++) {
    const { history } = historyOf(seed)
    const { checks, verdict } = checkHistory(history, { balanced: false })
    const anomalies = checks.flatMap((check) => check.anomalies)
    const reported = anomalies.map(({ text, witnesses }) =>
      [text, ...witnesses.map((one) => one.text)].join('\n  '),
    )
    assert.deepEqual(reported, [], repeat(seed))
    if (verdict === 'ok') ok++
    calls += history.calls.length
    unknown += history.calls.filter(({ answer }) => answer.kind === 'unknown').length
  }
  console.log(
    `# ${seeds} valid histories of ${calls} calls, ${unknown} without a response: ${ok} ok, no anomalies`,
  )
  assert.ok(ok > seeds / 2 || seeds === 1, 'most of them are decided')
})

/** Changes one response or event. @returns null: there is nothing to change */
type Falsification = (history: History, random: SeededRandom) => History | null

function everySeed(falsify: Falsification, kinds: readonly AnomalyKind[], shareMin: number): void {
  let [falsified, noticed] = [0, 0]
  for (let seed = first; seed < first + seeds; seed++) {
    const { history, random } = historyOf(seed)
    const changed = falsify(history, random)
    if (changed === null) continue
    falsified++
    const names = found(changed)
    if (kinds.some((kind) => names.has(kind))) noticed++
    else if (shareMin === 1) assert.fail(`found ${[...names].join(', ') || 'nothing'}; ${repeat(seed)}`)
  }
  assert.ok(falsified > seeds / 2 || seeds === 1, `${falsified} of ${seeds} histories could be changed`)
  assert.ok(noticed >= falsified * shareMin, `${noticed} of ${falsified} noticed`)
}

function inWatch(
  { watches, ...history }: History,
  random: SeededRandom,
  change: (events: Watch['events'], at: number) => Watch['events'] | null,
  selecting = false,
): History | null {
  const long = watches.filter(({ events, side }) => events.length >= 3 && (side !== null) === selecting)
  if (long.length === 0) return null
  const chosen = random.pick(long)
  const start = random.below(chosen.events.length - 1)
  for (let turn = 0; turn < chosen.events.length - 1; turn++) {
    const at = (start + turn) % (chosen.events.length - 1)
    const events = chosen.events[at]?.version === null ? null : change([...chosen.events], at)
    if (events === null) continue
    return { ...history, watches: watches.map((watch) => (watch === chosen ? { ...watch, events } : watch)) }
  }
  return null
}

void test('an event left out is always found, since other watchers received it', () => {
  everySeed(
    (history, random) => inWatch(history, random, (events, at) => events.toSpliced(at, 1)),
    ['dropped-event'],
    1,
  )
})

void test('an event of a selection that is left out or has the wrong type is found', () => {
  everySeed(
    (history, random) => inWatch(history, random, (events, at) => events.toSpliced(at, 1), true),
    ['dropped-event'],
    0.95,
  )
  const other = { ADDED: 'MODIFIED', MODIFIED: 'DELETED', DELETED: 'MODIFIED' } as const
  const otherwise: Falsification = (history, random) =>
    inWatch(
      history,
      random,
      (events, at) => {
        const event = events[at] as Watch['events'][number]
        if (event.type === 'BOOKMARK' || event.type === 'OTHER') return null
        return events.with(at, { ...event, type: other[event.type] })
      },
      true,
    )
  everySeed(otherwise, ['wrong-event', 'two-versions', 'dropped-event'], 0.95)
})

void test('an event sent twice, or after a later one, is always found', () => {
  const twice: Falsification = (history, random) =>
    inWatch(history, random, (events, at) => events.toSpliced(at, 0, events[at] as Watch['events'][number]))
  everySeed(twice, ['repeated-event'], 1)
  const swapped: Falsification = (history, random) =>
    inWatch(history, random, (events, at) => {
      const [one, other] = [events[at], events[at + 1]]
      if (one === undefined || other === undefined || other.version === null) return null
      return events.toSpliced(at, 2, other, one)
    })
  everySeed(swapped, ['event-order'], 1)
})

void test('a bookmark before what it covers is always found', () => {
  const early: Falsification = (history, random) =>
    inWatch(history, random, (events, at) => {
      const event = events[at] as Watch['events'][number]
      return events.toSpliced(at, 0, { ...event, type: 'BOOKMARK', version: null })
    })
  everySeed(early, ['false-bookmark', 'event-order'], 1)
})

void test('an object missing from a list is found unless it may have been deleted; an old one always', () => {
  const inList = (change: 'missing' | 'old'): Falsification => {
    return (history, random) => {
      const lists = history.calls.filter(
        ({ answer, request }) =>
          answer.kind === 'list' &&
          answer.versions.length > 0 &&
          request.kind === 'list' &&
          request.limit === null,
      )
      if (lists.length === 0) return null
      const start = random.below(lists.length)
      for (let turn = 0; turn < lists.length; turn++) {
        const call = lists[(start + turn) % lists.length]
        if (call?.answer.kind !== 'list') continue
        const { versions } = call.answer
        const at = random.below(versions.length)
        const older = olderThan(history, versions[at]?.name ?? '', versions[at]?.revision ?? 0)
        if (change === 'old' && older === null) continue
        const changed =
          change === 'old' && older !== null ? versions.with(at, older) : versions.toSpliced(at, 1)
        const falsified = { ...call, answer: { ...call.answer, versions: changed } }
        return { ...history, calls: history.calls.map((one) => (one === call ? falsified : one)) }
      }
      return null
    }
  }
  everySeed(inList('old'), ['wrong-list', 'lost-write'], 1)
  everySeed(inList('missing'), ['wrong-list', 'lost-write'], 0.9)
})

function olderThan({ calls }: History, name: string, revision: number) {
  for (const { answer } of calls) {
    if (answer.kind !== 'object') continue
    const { version } = answer
    if (version.name === name && version.revision < revision) return version
  }
  return null
}

void test('a most recent read of a version replaced before it began is always found', () => {
  const stale: Falsification = (history, random) => {
    const reads = history.calls.filter(
      ({ request, answer }) =>
        request.kind === 'get' && request.mode.kind === 'most-recent' && answer.kind === 'object',
    )
    const start = random.below(Math.max(1, reads.length))
    for (let turn = 0; turn < reads.length; turn++) {
      const call = reads[(start + turn) % reads.length]
      if (call?.answer.kind !== 'object') continue
      const { name } = call.answer.version
      const replaced = history.calls.find(
        ({ request, answer, end }) =>
          request.kind === 'update' &&
          request.name === name &&
          answer.kind === 'object' &&
          end < call.begin &&
          olderThan(history, name, answer.version.revision) !== null,
      )
      if (replaced?.answer.kind !== 'object') continue
      const older = olderThan(history, name, replaced.answer.version.revision)
      if (older === null) continue
      const falsified = { ...call, answer: { ...call.answer, version: older } }
      return { ...history, calls: history.calls.map((one) => (one === call ? falsified : one)) }
    }
    return null
  }
  everySeed(stale, ['stale-read', 'not-linearizable', 'lost-write'], 1)
})
