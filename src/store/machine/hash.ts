/** 128 bits as four lanes. Mutable, so that hot paths allocate nothing. */
export type Hash128 = Uint32Array

/** Bytes of a stored hash. */
export const hashBytes = 16

export function newHash(): Hash128 {
  return new Uint32Array(4)
}

/**
 * Hashes `bytes` from `from` on into `out`. Detects random damage; an adversary could construct a
 * collision.
 *
 * @source Appleby, MurmurHash3 for x86, 128 bits; the last block is padded with zeros instead of
 *   being mixed byte by byte, so values differ from the reference.
 */
export function hash128(bytes: Uint8Array, from: number, out: Hash128): Hash128 {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = bytes.byteLength - from
  const whole = from + (length & ~15)
  lanes.fill(0)
  for (let at = from; at < whole; at += 16) mixBlock(view, at)
  if (whole < bytes.byteLength) {
    tail.fill(0)
    tail.set(bytes.subarray(whole))
    mixBlock(tailView, 0)
  }
  finish(length, out)
  return out
}

/** Adds hashes lane by lane: commutative and reversible. */
export function addHash(sum: Hash128, hash: Hash128): void {
  for (let lane = 0; lane < 4; lane++) sum[lane] = laneOf(sum, lane) + laneOf(hash, lane)
}

export function subtractHash(sum: Hash128, hash: Hash128): void {
  for (let lane = 0; lane < 4; lane++) sum[lane] = laneOf(sum, lane) - laneOf(hash, lane)
}

export function sameHash(a: Hash128, b: Hash128): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3]
}

export function writeHash(hash: Hash128, bytes: Uint8Array, at: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let lane = 0; lane < 4; lane++) view.setUint32(at + 4 * lane, laneOf(hash, lane), true)
}

export function readHash(bytes: Uint8Array, at: number, out: Hash128): Hash128 {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let lane = 0; lane < 4; lane++) out[lane] = view.getUint32(at + 4 * lane, true)
  return out
}

/** 32 hexadecimal digits. */
export function hashText(hash: Hash128): string {
  return [...hash].map((lane) => lane.toString(16).padStart(8, '0')).join('')
}

// Scratch space of this thread; the functions here are not reentrant.
const lanes = new Int32Array(4)
const tail = new Uint8Array(16)
const tailView = new DataView(tail.buffer)

function mixBlock(view: DataView, at: number): void {
  let [h1, h2, h3, h4] = [lanes[0] ?? 0, lanes[1] ?? 0, lanes[2] ?? 0, lanes[3] ?? 0]
  h1 ^= Math.imul(rotate(Math.imul(view.getInt32(at, true), 0x239b961b), 15), 0xab0e9789)
  h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0
  h2 ^= Math.imul(rotate(Math.imul(view.getInt32(at + 4, true), 0xab0e9789), 16), 0x38b34ae5)
  h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0
  h3 ^= Math.imul(rotate(Math.imul(view.getInt32(at + 8, true), 0x38b34ae5), 17), 0xa1e38b93)
  h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0
  h4 ^= Math.imul(rotate(Math.imul(view.getInt32(at + 12, true), 0xa1e38b93), 18), 0x239b961b)
  h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0
  lanes[0] = h1
  lanes[1] = h2
  lanes[2] = h3
  lanes[3] = h4
}

function finish(length: number, out: Hash128): void {
  for (let lane = 0; lane < 4; lane++) lanes[lane] = (lanes[lane] ?? 0) ^ length
  spread()
  for (let lane = 0; lane < 4; lane++) lanes[lane] = avalanche(lanes[lane] ?? 0)
  spread()
  for (let lane = 0; lane < 4; lane++) out[lane] = lanes[lane] ?? 0
}

/** Mixes all lanes. */
function spread(): void {
  const first = ((lanes[0] ?? 0) + (lanes[1] ?? 0) + (lanes[2] ?? 0) + (lanes[3] ?? 0)) | 0
  lanes[0] = first
  for (let lane = 1; lane < 4; lane++) lanes[lane] = ((lanes[lane] ?? 0) + first) | 0
}

function avalanche(value: number): number {
  let h = value
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}

function laneOf(hash: Hash128, lane: number): number {
  return hash[lane] ?? 0
}
