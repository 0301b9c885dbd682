import { decodeCommand } from './command-codec.ts'
import { MalformedCommandError } from './malformed-command-error.ts'

/**
 * Whether a command can be decoded. The raft thread of the leader loads this module by its path:
 * commands forwarded by other members are checked before they are proposed, because a command that
 * cannot be decoded cannot be applied.
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
