import type { SeededRandom } from '../../../base/random.ts'
import type { ApiDomain } from '../../../src/api/metadata/names.ts'
import { defaultStoreLimits } from '../../../src/store/store-limits.ts'
import type { Settings } from '../../../src/store/command.ts'
import { storageBytesDefault } from '../../../src/store/machine/storage-rules.ts'
import { storageRulesLevel } from '../../../src/store/machine/feature-level.ts'
import { featureLevelMax } from '../../../src/version.ts'
import type { PlannedChange } from './administrator.ts'
import type { Range } from './history.ts'

/** The clients of one run and the API of the cluster, drawn from the seed. */
export type ClientPlan = {
  readonly domain: ApiDomain
  readonly settings: Settings
  /** The feature level that the cluster begins with. */
  readonly featureLevel: number
  /** Changes of the settings and of the feature level during the faults, in order. */
  readonly changes: readonly PlannedChange[]
  /** Settings that do not interfere with the final checks. */
  readonly lastSettings: Settings
  /** Mean ms between two calls, over all clients. */
  readonly callEveryMs: number
  readonly watched: readonly Range[]
}

export function drawClients(random: SeededRandom, payloadBytesMax: number): ClientPlan {
  const domain = random.pick(['orch.io', 'k8s.io'] as const)
  const settings: Settings = {
    // Often 1 s, the minimum that the flag allows: then history is compacted while it is read.
    historyWindowMs: random.pick([1_000, 1_000, 3_000, 300_000]),
    historyEventsMin: random.pick([0, 10, 100]),
    objectBytesMax: defaultStoreLimits.commandBytesMax,
    storageBytesMax: null,
    ...(random.chance(0.7) ? { leaseReads: 1 } : {}),
  }
  return {
    domain,
    settings,
    callEveryMs: random.pick([25, 40, 120]),
    watched: [
      { namespace: null, color: null },
      { namespace: null, color: 'red' },
      { namespace: random.pick(['default', 'a']), color: random.pick([null, 'red', 'blue']) },
    ],
    ...drawStorage(random, settings, payloadBytesMax),
  }
}

/**
 * Draws a feature level, which may rise during the run, and in some runs a quota that is too small
 * for a while.
 */
function drawStorage(
  random: SeededRandom,
  settings: Settings,
  payloadBytesMax: number,
): Pick<ClientPlan, 'featureLevel' | 'changes' | 'lastSettings'> {
  const featureLevel = random.chance(0.5) ? featureLevelMax : 1 + random.below(featureLevelMax - 1)
  const raises: Extract<PlannedChange, { readonly kind: 'raise' }>[] = []
  let raisedMs = 0
  for (let level = featureLevel + 1; level <= featureLevelMax; level++) {
    raisedMs += 1_000 + random.below(4_000)
    raises.push({ kind: 'raise', atMs: raisedMs, level })
  }
  const rulesMs = raises.find(({ level }) => level === storageRulesLevel)?.atMs ?? 0
  // Differs from the settings that the cluster has when the storage rules begin. A request for the
  // small quota is conditional on the earlier settings, so a late one cannot take effect after
  // these settings.
  const lastSettings = { ...settings, storageBytesMax: storageBytesDefault + 1 }
  if (!random.chance(0.4)) return { featureLevel, changes: raises, lastSettings }
  const objectBytes = usualBytes + payloadBytesMax / 2
  const small: Settings = {
    ...settings,
    objectBytesMax: random.chance(0.6)
      ? leastBytes + Math.ceil(payloadBytesMax / 2)
      : settings.objectBytesMax,
    storageBytesMax: Math.ceil(objectBytes * random.pick([20, 40, 80])),
  }
  const fromMs = Math.max(rulesMs, 1_000 + random.below(4_000))
  const forMs = 2_000 + random.below(8_000)
  const changes: readonly PlannedChange[] = [
    ...raises,
    { kind: 'settings', atMs: fromMs, settings: small } as const,
    { kind: 'settings', atMs: fromMs + forMs, settings: lastSettings } as const,
  ].sort((a, b) => a.atMs - b.atMs)
  return { featureLevel, changes, lastSettings }
}

/** Size of an object without the data of its client. */
const leastBytes = 320

/** Size of the record of one version without the data of its client. */
const usualBytes = 500
