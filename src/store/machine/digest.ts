import { addHash, hash128, newHash } from './hash.ts'
import type { Hash128 } from './hash.ts'
import { encodeHead } from './head.ts'
import type { Head } from './head.ts'
import type { MachineState } from './state.ts'

export function headOf(state: MachineState): Head {
  return {
    appliedIndex: state.appliedIndex,
    appliedTerm: state.appliedTerm,
    configuration: state.configuration,
    revision: state.revision,
    trimmed: state.history.trimmed,
    identity: state.identity,
    settings: state.settings,
    featureLevel: state.featureLevel,
    usedBytes: state.usage.bytes,
    storageAlarm: state.storageAlarm,
  }
}

/**
 * Returns the digest of the whole state: equal on all members that applied the same entries,
 * regardless of batching and snapshots. The sum over all readable versions is maintained by
 * `Machine`; the small rest is hashed here.
 */
export function digestOf(state: MachineState): Hash128 {
  const digest = hash128(encodeHead(headOf(state)), 0, newHash())
  addHash(digest, state.versionsSum)
  state.sessions.addTo(digest)
  return digest
}
