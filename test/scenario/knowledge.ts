import type { ChangeContext } from '../../raft/core/member-change.ts'
import type { Raft } from '../../raft/core/raft.ts'
import type { NodeId } from '../../raft/core/types.ts'

/** The context of a leader's changes; a learner has caught up once it has the whole log. */
export function knowledgeOf(raft: Raft): ChangeContext {
  const { followers, lastIndex, id } = raft.status()
  const of = (those: typeof followers): readonly NodeId[] => those.map((follower) => follower.id)
  const answering = followers.filter(({ recentlyActive, match }) => recentlyActive && match > 0)
  return {
    configurationIndex: raft.decided.index,
    pending: raft.decided.configuration !== raft.configuration,
    settled: raft.settled,
    responding: new Set([id, ...of(answering)]),
    caughtUp: new Set(of(answering.filter(({ match }) => match === lastIndex))),
  }
}
