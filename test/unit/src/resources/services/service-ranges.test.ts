/*
 * Goal: the addresses of a range are those of its network, in canonical form.
 * Method: first, last and random offsets of ranges of both families against the parser of CEL.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import {
  addressAt,
  canonicalAddress,
  offsetIn,
  serviceRanges,
} from '../../../../../src/resources/services/service-ranges.ts'

const random = new SeededRandom(9)

void test('an address of a range is canonical, and is found at its offset', () => {
  for (const text of [
    '10.96.0.0/12',
    '255.255.255.0/24',
    '10.0.0.8/29',
    'fd00::/108',
    'fd00:1:0:2::/112',
    '2001:db8:0:1:1:1:1:0/112',
    '2001:db8::1:0:f0/125',
    '1:0:0:2:0:0:0:0/112',
  ]) {
    const [range] = serviceRanges([text], '1-2').addresses
    assert.ok(range !== undefined)
    const offsets = [0, 1, range.count - 1, ...Array.from({ length: 50 }, () => random.below(range.count))]
    for (const offset of offsets) {
      const address = addressAt(range, offset)
      assert.equal(canonicalAddress(address), address)
      assert.equal(offsetIn(range, address), offset)
    }
  }
  const [small] = serviceRanges(['10.0.0.8/29'], '1-2').addresses
  assert.ok(small !== undefined)
  assert.deepEqual([addressAt(small, 0), addressAt(small, small.count - 1)], ['10.0.0.9', '10.0.0.14'])
  assert.deepEqual([offsetIn(small, '10.0.0.8'), offsetIn(small, '10.0.0.15')], [null, null])
})
