import { decodeCommand } from './command-codec.ts'
import { MalformedCommandError } from './malformed-command-error.ts'

/**
 * Whether a command can be decoded. The leader's raft thread loads this module by its address: what
 * other members forward is looked at before it is proposed, as nobody could apply it afterwards.
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
