import type { SeededRandom } from '../../../raft/base/random.ts'
import type { ApiDomain } from '../../../src/api/names.ts'
import { defaultStoreLimits } from '../../../src/store/limits.ts'
import type { Settings } from '../../../src/store/command.ts'
import type { Range } from './history.ts'

/** What the seed decides of the clients of one run and of the cluster they create. */
export type ClientPlan = {
  readonly domain: ApiDomain
  readonly settings: Settings
  /** Mean ms between two calls of all clients together. */
  readonly callEveryMs: number
  readonly watched: readonly Range[]
}

export function drawClients(random: SeededRandom): ClientPlan {
  return {
    domain: random.pick(['orch.io', 'k8s.io']),
    settings: {
      // The least that the flag allows: history is forgotten while it is read.
      historyWindowMs: random.pick([1_000, 1_000, 3_000, 300_000]),
      historyEventsMin: random.pick([0, 10, 100]),
      objectBytesMax: defaultStoreLimits.commandBytesMax,
      storageBytesMax: null,
    },
    callEveryMs: random.pick([25, 40, 120]),
    watched: [
      { namespace: null, color: null },
      { namespace: null, color: 'red' },
      { namespace: random.pick(['default', 'a']), color: random.pick([null, 'red', 'blue']) },
    ],
  }
}
