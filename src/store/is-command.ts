import { decodeCommand } from './command-codec.ts'
import { CommandMalformed } from './command-malformed.ts'

/**
 * Whether a command can be decoded. The leader's raft thread loads this module by its address: what other members forward
 * is looked at before it is proposed, as nobody could apply it afterwards.
 */
export function isCommand(payload: Uint8Array): boolean {
  try {
    decodeCommand(payload)
    return true
  } catch (cause) {
    if (cause instanceof CommandMalformed) return false
    throw cause
  }
}
