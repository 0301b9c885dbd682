import type { LogFile } from '../ports.ts'
import { LogError } from './errors.ts'

/**
 * Writes zeros ahead of the log, which only spare time: a full disk ends nothing here, so that a
 * cut can make room on it. What was written of them is zeros, as if they had been written in full.
 *
 * @returns whether there was room
 * @throws LogError of any code but `disk-full`
 */
export function hasRoomAhead(file: LogFile, from: number, zeros: Uint8Array): boolean {
  try {
    file.write(from, zeros)
    return true
  } catch (cause) {
    if (cause instanceof LogError && cause.code === 'disk-full') return false
    throw cause
  }
}
