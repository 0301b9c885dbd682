/*
 * Goal: every live entry has exactly the place that it was last given, however the log grew and was
 * compacted.
 * Method: random puts, compactions and resets against a plain map, across several sizes of the
 * arrays.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../../base/assert.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex } from '../../../../raft/core/types.ts'
import { EntryIndex } from '../../../../raft/log/entry-index.ts'
import type { EntryPlace } from '../../../../raft/log/entry-index.ts'

void test('places agree with a map through growth, replacement, compactions and resets', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new SeededRandom(seed)
    const index = new EntryIndex(logIndex(1))
    /** `places[0]` belongs to `first`. */
    let places: EntryPlace[] = []
    let first = 1
    for (let step = 0; step < 300; step++) {
      const action = random.below(20)
      if (action === 0) {
        first += places.length + random.below(50)
        places = []
        index.reset(logIndex(first))
      } else if (action < 4) {
        const gone = random.below(places.length + 1)
        first += gone
        places = places.slice(gone)
        index.compact(logIndex(first))
      } else {
        const start = random.chance(0.2) ? random.below(places.length + 1) : places.length
        for (let at = start; at < start + 1 + random.below(200); at++) {
          const place = {
            segment: random.below(2 ** 31),
            offset: random.next(),
            length: random.next(),
            seed: random.next(),
          }
          places.length = at
          places.push(place)
          index.put(logIndex(first + at), place)
        }
      }
      assert.equal(index.first, first, `seed ${seed}`)
      assert.equal(index.has(logIndex(first + places.length)), false, `seed ${seed}`)
      const found = places.map((_, at) => index.place(logIndex(first + at)))
      assert.deepEqual(found, places, `seed ${seed}`)
    }
  }
})

void test('an index without a place is not found', () => {
  const index = new EntryIndex(logIndex(5))
  const place = { segment: 1, offset: 2, length: 3, seed: 4 }
  index.put(logIndex(5), place)
  index.put(logIndex(6), place)
  index.compact(logIndex(6))
  assert.ok(!index.has(logIndex(5)) && index.has(logIndex(6)) && !index.has(logIndex(7)))
  assert.throws(() => index.place(logIndex(5)), BrokenInvariant)
  assert.throws(() => index.put(logIndex(9), place), BrokenInvariant)
})
