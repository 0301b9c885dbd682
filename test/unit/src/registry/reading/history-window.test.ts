/*
 * Goal: with the default settings, tokens, versions and watches of the last five minutes are valid:
 * a client can page on, resume its watch and read that version. Later it gets an error and must
 * list again.
 * Method: the shipped verbs and the shipped trimmer with manual time and a change every ten
 * seconds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultStoreLimits } from '../../../../../src/store/store-limits.ts'
import { HistoryTrimmer } from '../../../../../src/store/trimming.ts'
import { Fixture, refused } from '../fixture.ts'

void test('spec 8: continue tokens, watches and exact versions live five minutes, and no longer than the history', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { consensus, machine } = api.memory
  // Only time retains history here: it is promised regardless of the number of events.
  const settings = { ...api.store.settings, historyEventsMin: 0 }
  assert.equal(settings.historyWindowMs, 300_000)
  await api.store.write({ kind: 'change-settings', settings }, api.clock.monotonicMs() + 1000)
  const trimmer = new HistoryTrimmer({
    ...{ consensus, machine, clock: api.clock, limits: defaultStoreLimits },
    onFailure: (cause) => {
      throw cause
    },
  })
  trimmer.start()
  t.after(() => trimmer.stop())
  for (const name of ['a', 'b', 'c']) await api.configMap(name)
  const first = await api.list({ query: { limit: '1' } })
  const { continue: token = '', resourceVersion } = first.metadata
  const page = { limit: '1', continue: token }
  const exact = { resourceVersion, resourceVersionMatch: 'Exact' }
  for (let second = 1; second <= 300; second++) {
    api.clock.advance(1000)
    await new Promise(setImmediate)
    if (second % 10 !== 0) continue
    await api.patch({ name: 'b', body: { data: { second: String(second) } } })
    assert.equal((await api.list({ query: page })).items[0]?.metadata.name, 'b', `after ${second} s`)
    assert.equal((await api.list({ query: exact })).items.length, 3, `after ${second} s`)
    const events = await api.watch({ query: { resourceVersion } })
    assert.equal((await events.now()).length, second / 10)
    events.stream.close()
  }
  for (let second = 0; second < 20; second++) {
    api.clock.advance(1000)
    await new Promise(setImmediate)
  }
  for (const call of [
    api.list({ query: page }),
    api.list({ query: exact }),
    api.watch({ query: { resourceVersion } }),
  ]) {
    const { code, reason } = await refused(call)
    assert.deepEqual([code, reason], [410, 'Expired'])
  }
})
