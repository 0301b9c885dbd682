import type { Clock } from '../../raft/base/clock.ts'
import { noIndex, noSnapshot } from '../../raft/index.ts'
import { MemoryKeyValueHome } from '../../src/store/disk/memory-key-value-store.ts'
import { defaultStoreLimits } from '../../src/store/limits.ts'
import type { StoreLimits } from '../../src/store/limits.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import { Store } from '../../src/store/store.ts'
import { LocalConsensus } from './local-consensus.ts'
import { systemClock } from './system.ts'

export type MemoryStoreOptions = {
  /** The real one when not given. */
  readonly clock?: Clock
  /** Differences from the defaults. */
  readonly limits?: Partial<StoreLimits>
}

export type MemoryStore = {
  readonly store: Store
  readonly machine: StoreMachine
  readonly consensus: LocalConsensus
  readonly close: () => Promise<void>
}

/** A working store on the shipped machine, in memory, without raft threads: for tests of what lies above. */
export async function openMemoryStore(options: MemoryStoreOptions = {}): Promise<MemoryStore> {
  const clock = options.clock ?? systemClock
  const limits = { ...defaultStoreLimits, ...options.limits }
  const machine = await StoreMachine.open({
    home: new MemoryKeyValueHome(),
    clock,
    limits,
    logBase: noSnapshot,
    logLast: noIndex,
    onFailure: (cause) => {
      throw cause
    },
  })
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits })
  return {
    store,
    machine,
    consensus,
    close: async () => {
      store.close()
      await machine.close()
    },
  }
}
