import type { LogFile } from '../ports.ts'
import { LogError } from './errors.ts'

/**
 * Writes zeros ahead of the log as an optimization. A full disk is not an error here, because a
 * compaction may free space. A partial write leaves zeros, which are valid.
 *
 * @returns whether there was enough space
 * @throws LogError of any code but `disk-full`
 */
export function writeZerosAhead(file: LogFile, from: number, zeros: Uint8Array): boolean {
  try {
    file.write(from, zeros)
    return true
  } catch (cause) {
    if (cause instanceof LogError && cause.code === 'disk-full') return false
    throw cause
  }
}
