import type { Consensus } from '../../raft/index.ts'
import type { Outcome } from '../store/command.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { Store } from '../store/store.ts'
import { HistoryTrimmer } from '../store/trimming.ts'
import { programVersion } from '../version.ts'
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
}

/**
 * Starts the background work around the state: storage alarm, state agreement, feature level,
 * status of members, history.
 */
export function startUpkeep(
  site: MemberContext,
  { store, machine, consensus }: UpkeepDependencies,
): StateWatch {
  const { clock, log, onFatal, config, closing } = site
  const featureLevelMax = config['feature-level-max']
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
  return watch
}
