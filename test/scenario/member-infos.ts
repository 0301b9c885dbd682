import { simpleConfiguration } from '../../raft/core/conf-change.ts'
import { nodeId } from '../../raft/core/types.ts'
import type { Configuration, MemberInfo, MemberRole } from '../../raft/core/types.ts'

/** A member of a test cluster, known by its number. */
export function memberInfo(id: number, role: MemberRole): MemberInfo {
  return {
    id: nodeId(id),
    name: `n${id}`,
    role,
    wantedRole: role,
    peerAddress: `n${id}:7443`,
    clientAddress: `n${id}:6443`,
    version: '0.1.0',
    featureLevel: 1,
    replaces: null,
    addedMs: 0,
  }
}

export function memberInfos(
  voters: readonly number[],
  learners: readonly number[] = [],
): readonly MemberInfo[] {
  return [...voters.map((id) => memberInfo(id, 'voter')), ...learners.map((id) => memberInfo(id, 'learner'))]
}

export function cluster(voters: readonly number[], learners: readonly number[] = []): Configuration {
  return simpleConfiguration(memberInfos(voters, learners))
}
