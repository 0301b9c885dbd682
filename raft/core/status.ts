import { configuration } from './state.ts'
import type { CoreStatus, Transition } from './ready.ts'
import type { State } from './state.ts'
import type { LogIndex } from './types.ts'

export function describeStatus(state: State): CoreStatus {
  const followers = [...state.progress.values()].map((progress) => progress.status())
  return {
    id: state.id,
    vote: state.vote,
    commit: state.commit,
    lastIndex: state.log.lastIndex,
    firstIndex: (state.log.base.index + 1) as LogIndex,
    persistedIndex: state.log.persisted,
    transferTarget: state.transfer?.to ?? null,
    decided: state.log.configurationAt(state.commit).configuration,
    followers: followers.sort((a, b) => a.id - b.id),
    ...presentTransition(state),
  }
}

export function presentTransition(state: State): Transition {
  return {
    role: state.role,
    term: state.term,
    leader: state.leader,
    configuration: configuration(state),
  }
}
