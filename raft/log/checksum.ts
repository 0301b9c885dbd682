import { crc32 } from 'node:zlib'

/**
 * CRC-32 (ISO 3309) continued from `seed`. Records are a chain: the seed of each is the checksum of
 * the one before, so a record that is intact but in the wrong place is seen too.
 *
 * The runtime's own is used because it runs at three times the speed of the best table-driven one
 * here.
 */
export function checksum(bytes: Uint8Array, seed: number): number {
  return crc32(bytes, seed)
}
