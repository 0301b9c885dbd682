/**
 * CRC-32C (Castagnoli), the checksum of LevelDB; the runtime only has another polynomial. Processes
 * eight bytes per step with eight tables.
 *
 * @returns 32 bits, unsigned
 * @source RFC 3720, appendix B.4
 */
export function crc32c(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const whole = bytes.byteLength - (bytes.byteLength % STEP)
  let crc = 0xffffffff
  let at = 0
  for (; at < whole; at += STEP) {
    const low = (view.getUint32(at, true) ^ crc) >>> 0
    const high = view.getUint32(at + 4, true)
    crc =
      entry(7, low & 0xff) ^
      entry(6, (low >>> 8) & 0xff) ^
      entry(5, (low >>> 16) & 0xff) ^
      entry(4, low >>> 24) ^
      entry(3, high & 0xff) ^
      entry(2, (high >>> 8) & 0xff) ^
      entry(1, (high >>> 16) & 0xff) ^
      entry(0, high >>> 24)
  }
  for (; at < bytes.byteLength; at++) crc = entry(0, (crc ^ view.getUint8(at)) & 0xff) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

/** Masks a checksum as LevelDB stores it, because a CRC over bytes that contain CRCs is weak. */
export function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

const STEP = 8
/** Reflected polynomial. */
const POLYNOMIAL = 0x82f63b78

/** Table `n` has the effect of a byte that is followed by `n` zero bytes. */
const tables = makeTables()

function entry(table: number, byte: number): number {
  return tables[table * 256 + byte] as number
}

function makeTables(): Int32Array {
  const made = new Int32Array(STEP * 256)
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    made[byte] = crc
  }
  for (let at = 256; at < made.length; at++) {
    const before = made[at - 256] as number
    made[at] = (made[before & 0xff] as number) ^ (before >>> 8)
  }
  return made
}
