/*
 * Goal: a power failure leaves of a simulated file what a disk and a page cache can leave.
 * Method: writes without a sync before the power failure, for many seeds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../base/random.ts'
import { sectorBytes, SimulatedFile } from '../../simulation/disk-file.ts'

const bytes = new Uint8Array(4 * sectorBytes).fill(7)
const seeds = 2000

function leftOf(seed: number, writes: number): Uint8Array {
  const file = new SimulatedFile()
  file.write(0, new Uint8Array(bytes.length))
  file.sync()
  for (let write = 0; write < writes; write++) file.write(0, bytes)
  file.losePower(new SeededRandom(seed))
  return file.now
}

/** Returns the surviving bytes of each sector. */
function sectorsOf(left: Uint8Array): readonly number[] {
  return [0, 1, 2, 3].map((at) => {
    return left.subarray(at * sectorBytes, (at + 1) * sectorBytes).filter((byte) => byte === 7).length
  })
}

void test('an unsynced write is complete, lost, truncated anywhere, or has some of its sectors', () => {
  const kinds = new Set<string>()
  for (let seed = 1; seed <= seeds; seed++) {
    const sectors = sectorsOf(leftOf(seed, 1))
    const cut = sectors.findIndex((count) => count > 0 && count < sectorBytes)
    if (cut >= 0)
      assert.ok(
        sectors.slice(cut + 1).every((count) => count === 0),
        `seed ${seed}: ${sectors.join()}`,
      )
    const isWhole = sectors.every((count) => count === sectorBytes)
    const kind = isWhole
      ? 'whole'
      : sectors.every((count) => count === 0)
        ? 'lost'
        : cut < 0
          ? 'sectors'
          : 'cut'
    kinds.add(kind)
  }
  assert.deepEqual([...kinds].toSorted(), ['cut', 'lost', 'sectors', 'whole'])
})

void test('a sector that was written twice with the same bytes is complete or lost, never torn', () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const sectors = sectorsOf(leftOf(seed, 2))
    assert.ok(
      sectors.every((count) => count === 0 || count === sectorBytes),
      `seed ${seed}: ${sectors.join()}`,
    )
  }
})
