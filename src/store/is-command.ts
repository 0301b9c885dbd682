import { decodeCommand } from './command-codec.ts'
import { MalformedCommandError } from './malformed-command-error.ts'

/**
 * Whether a command can be decoded. The raft thread of each member loads this module by its path: a
 * leader checks the commands that other members forward before it proposes them, because a command
 * that cannot be decoded cannot be applied.
 */
export function isCommand(payload: Uint8Array): boolean {
  try {
    decodeCommand(payload)
    return true
  } catch (cause) {
    if (cause instanceof MalformedCommandError) return false
    throw cause
  }
}
