import type { MemberInfo } from '../../raft/index.ts'
import type { Config } from '../config/config.ts'
import { memberId } from './member-identity.ts'
import { clientAddress } from '../config/client-address.ts'

/**
 * Returns the members of a new cluster, as each of them computes them from the same configuration.
 * The result must not depend on the version of the program, so it contains no versions: members
 * report them to each other.
 */
export function initialMembers(config: Config, cluster: string): readonly MemberInfo[] {
  const listed = config['initial-members']
  const members =
    listed.length > 0
      ? listed
      : [{ name: config.name, peerAddress: config['peer-address'], clientAddress: clientAddress(config) }]
  return members.map((member) => ({
    id: memberId(cluster, member.name),
    name: member.name,
    role: 'voter',
    wantedRole: 'voter',
    peerAddress: member.peerAddress,
    clientAddress: member.clientAddress,
    version: '',
    featureLevel: 0,
    replaces: null,
    addedMs: 0,
  }))
}
