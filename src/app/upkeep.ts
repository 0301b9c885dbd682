import type { Consensus } from '../../raft/index.ts'
import { limits } from '../config/limits.ts'
import type { Outcome } from '../store/command.ts'
import { storageRulesLevel } from '../store/machine/feature-level.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { Store } from '../store/store.ts'
import { HistoryTrimmer } from '../store/trimming.ts'
import { programVersion } from '../version.ts'
import { Bootstrap } from '../controllers/bootstrap.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import { FeatureLevelRaiser } from '../membership/feature-level-raiser.ts'
import { MemberStatusWriter } from '../membership/member-status-writer.ts'
import { storeLimits } from './context.ts'
import type { MemberContext } from './context.ts'
import { watchState } from '../state-agreement/state-watch.ts'
import type { StateWatch } from '../state-agreement/state-watch.ts'
import { logStorageAlarm } from '../health/storage-alarm-log.ts'

export type UpkeepDependencies = {
  readonly store: Store
  readonly machine: StoreMachine
  readonly consensus: Consensus<Outcome>
  readonly keys: MemberKeys
}

/**
 * Starts the background work around the state: founding, storage alarm, state agreement, feature
 * level, status of members, history.
 */
export function startUpkeep(
  site: MemberContext,
  { store, machine, consensus, keys }: UpkeepDependencies,
): { readonly bootstrap: Bootstrap; readonly watch: StateWatch } {
  const { clock, random, log, onFatal, config, names, closing } = site
  const featureLevelMax = config['feature-level-max']
  const bootstrap = new Bootstrap({
    ...{ store, consensus, clock, random, names },
    fingerprints: keys.fingerprints,
    settings: {
      historyWindowMs: config['initial-history-window'],
      historyEventsMin: config['initial-history-events-min'],
      objectBytesMax: limits.requestBytesMax,
      storageBytesMax: featureLevelMax < storageRulesLevel ? null : config['initial-storage-quota'],
    },
    featureLevel: featureLevelMax,
  })
  bootstrap.start(onFatal)
  closing.add(() => bootstrap.stop())
  closing.add(logStorageAlarm({ store, log, onApplied: (listener) => machine.onApplied(listener) }))
  const watch = watchState({ machine, consensus, clock, log, limits: storeLimits, featureLevelMax })
  closing.add(() => watch.close())
  const raiser = new FeatureLevelRaiser({
    ...{ store, consensus, clock, log, featureLevelMax },
    configuration: () => machine.configuration,
    reports: watch.reports,
    onFailure: onFatal,
  })
  raiser.start()
  closing.add(() => raiser.close())
  const statuses = new MemberStatusWriter({
    ...{ store, consensus, clock, reports: watch.reports, onFailure: onFatal },
    self: () => ({
      state: watch.guard.describe().state,
      version: programVersion,
    }),
  })
  statuses.start()
  closing.add(() => statuses.close())
  const trimmer = new HistoryTrimmer({ consensus, machine, clock, limits: storeLimits, onFailure: onFatal })
  trimmer.start()
  closing.add(() => trimmer.stop())
  return { bootstrap, watch }
}
