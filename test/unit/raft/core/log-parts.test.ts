import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EntryCache } from '../../../../raft/core/entry-cache.ts'
import { Inflights } from '../../../../raft/core/inflights.ts'
import { TermRuns } from '../../../../raft/core/term-runs.ts'
import { entryBytes, logIndex, term } from '../../../../raft/core/types.ts'
import type { LogIndex } from '../../../../raft/core/types.ts'
import { command } from './solo.ts'
import { fc } from '../../../support/generators/fast-check.ts'

/*
 * Goal: the small structures return the same results as a plain array.
 * Method: random operations on both.
 */

const operations = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('append' as const), step: fc.nat(1) }),
    fc.record({ kind: fc.constant('truncate' as const), back: fc.nat(5) }),
    fc.record({ kind: fc.constant('cut' as const), ahead: fc.nat(5) }),
  ),
  { maxLength: 60 },
)

void test('term runs return the same results as a list of all terms', () => {
  fc.assert(
    fc.property(operations, (list) => {
      const runs = new TermRuns([])
      let cut = 0
      const terms: number[] = [0]
      for (const operation of list) {
        const last = terms.length - 1
        switch (operation.kind) {
          case 'append':
            terms.push((terms.at(-1) ?? 0) + operation.step)
            runs.append(logIndex(last + 1), term(terms.at(-1) ?? 0))
            break
          case 'truncate': {
            const from = Math.max(cut + 1, last - operation.back)
            terms.length = Math.min(terms.length, from)
            runs.truncateFrom(logIndex(from))
            break
          }
          case 'cut':
            cut = Math.min(last, cut + operation.ahead)
            runs.compact(logIndex(cut), logIndex(last))
            break
        }
        for (let index = cut + 1; index < terms.length; index++) {
          assert.equal(runs.termAt(logIndex(index)), terms[index])
          for (const of of [0, 1, 3, 9]) {
            let naive = index
            while (naive > cut && (terms[naive] ?? 0) > of) naive--
            assert.equal(runs.lastAtMost(logIndex(index), term(of))?.index ?? cut, naive)
          }
        }
        assert.equal(runs.termAt(logIndex(cut)), null)
      }
    }),
  )
})

void test('the entry cache returns the end of the log, and evicts only evictable entries', () => {
  fc.assert(
    fc.property(operations, fc.integer({ min: 50, max: 400 }), (list, bytesMax) => {
      const cache = new EntryCache(logIndex(1), bytesMax)
      let next = 1
      let cut = 0
      for (const operation of list) {
        switch (operation.kind) {
          case 'append':
            cache.append(command(next++, 1))
            break
          case 'truncate':
            next = Math.max(cut + 1, next - operation.back)
            cache.truncateFrom(logIndex(next))
            break
          case 'cut':
            cut = Math.min(next - 1, cut + operation.ahead)
            if (operation.ahead % 2 === 0) cache.compact(logIndex(cut))
            else cache.evict(logIndex(cut))
            assert.ok(cache.first <= cut + 1 || cache.first === cache.next)
            break
        }
        assert.equal(cache.next, next)
        let bytes = 0
        for (let index = cache.first; index < cache.next; index = (index + 1) as LogIndex) {
          assert.equal(cache.at(index).index, index)
          bytes += entryBytes(cache.at(index))
        }
        assert.equal(cache.bytes, bytes)
        assert.equal(cache.has(logIndex(next)), false)
      }
    }),
  )
})

void test('a slice contains the entries that fit, but at least one', () => {
  const cache = new EntryCache(logIndex(1), 1000)
  for (let index = 1; index <= 5; index++) cache.append(command(index, 1))
  const one = entryBytes(command(1, 1))
  const indexes = (bytes: number): readonly number[] =>
    cache.slice(logIndex(2), bytes).map((entry) => entry.index)
  assert.deepEqual(indexes(1), [2])
  assert.deepEqual(indexes(2 * one), [2, 3])
  assert.deepEqual(indexes(3 * one - 1), [2, 3])
  assert.deepEqual(indexes(Infinity), [2, 3, 4, 5])
})

void test('thousands of entries pass through the cache in bounded memory', () => {
  const cache = new EntryCache(logIndex(1), 340)
  for (let index = 1; index <= 5000; index++) {
    cache.append(command(index, 1))
    cache.evict(logIndex(index))
  }
  assert.equal(cache.first, 4991)
  assert.equal(cache.at(logIndex(5000)).index, 5000)
})

void test('the window is limited in messages and bytes, and an acknowledgement frees all earlier messages', () => {
  const window = new Inflights(3, 100)
  window.add(logIndex(1), 10)
  window.add(logIndex(2), 10)
  assert.equal(window.full, false)
  window.add(logIndex(5), 10)
  assert.equal(window.full, true)
  window.freeTo(logIndex(2))
  assert.deepEqual([window.count, window.bytes, window.full], [1, 10, false])
  window.add(logIndex(6), 95)
  assert.equal(window.full, true)
  window.freeTo(logIndex(4))
  assert.equal(window.count, 2)
  window.freeTo(logIndex(6))
  assert.deepEqual([window.count, window.bytes], [0, 0])
  assert.throws(
    () => {
      for (let at = 0; at < 4; at++) window.add(logIndex(7 + at), 1)
    },
    { name: 'BrokenInvariant' },
  )
})

void test('the window works as a ring over many rounds', () => {
  const window = new Inflights(4, 1000)
  for (let index = 1; index < 200; index++) {
    window.add(logIndex(index), 1)
    if (index % 3 === 0) window.freeTo(logIndex(index))
  }
  assert.equal(window.count, 1)
})
