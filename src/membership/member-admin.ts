import { assertNever } from '../../base/assert.ts'
import type {
  Configuration,
  Consensus,
  MemberChange,
  MemberInfo,
  MemberRole,
  NodeId,
} from '../../raft/index.ts'
import { MembersError } from './members.ts'

/** A change of a member, by its name. */
export type NamedChange = {
  readonly name: string
  /**
   * The member that the caller means. Names are reused: a repeated request must not remove or
   * change a member that has got the name since. null: the member with the name.
   */
  readonly id: NodeId | null
} & (
  | { readonly kind: 'remove' }
  | { readonly kind: 'set-role'; readonly role: MemberRole }
  /** null: unchanged. */
  | { readonly kind: 'move'; readonly peerAddress: string | null; readonly clientAddress: string | null }
)

export type MemberAdminDependencies = {
  readonly consensus: Pick<Consensus<never>, 'barrier' | 'changeMembers'>
  /** The configuration as of the newest entry in memory. */
  readonly configuration: () => Configuration
}

/** Changes to existing members, requested by an operator. Each may be repeated. */
export class MemberAdmin {
  readonly #dependencies: MemberAdminDependencies

  constructor(dependencies: MemberAdminDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Looks up the name after a read barrier: a member that lags knows neither the latest members nor
   * that another member has the name now.
   *
   * @param deadlineMs on the monotonic clock
   * @returns whether there was anything to change when the name was looked up
   * @throws MembersError `unknown-member`; MembershipError, ConsensusError
   */
  async change(change: NamedChange, deadlineMs: number): Promise<boolean> {
    const { consensus, configuration } = this.#dependencies
    await consensus.barrier(deadlineMs)
    const { members } = configuration()
    const named = members.find(({ name }) => name === change.name)
    const member = change.id === null || named?.id === change.id ? named : undefined
    if (member === undefined) {
      // Ids are never reused, so the member is gone; without an id only a current member can be
      // meant.
      if (change.kind === 'remove') return false
      if (named !== undefined) {
        const message = `${change.name} is another member now, ${named.id} and not ${change.id}: check and repeat the command`
        throw new MembersError('unknown-member', message)
      }
      const names = members
        .map(({ name }) => name)
        .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
        .join(', ')
      throw new MembersError('unknown-member', `there is no member ${change.name}: there are ${names}`)
    }
    const wanted = changeOf(member, change)
    await consensus.changeMembers(wanted, deadlineMs)
    return isNews(member, wanted)
  }
}

function changeOf({ id }: MemberInfo, change: NamedChange): MemberChange {
  switch (change.kind) {
    case 'remove':
      return { kind: 'remove', id }
    case 'set-role':
      return { kind: 'set-role', id, role: change.role }
    case 'move': {
      const { peerAddress, clientAddress } = change
      return { kind: 'move', id, peerAddress, clientAddress }
    }
    default:
      return assertNever(change)
  }
}

function isNews(member: MemberInfo, change: MemberChange): boolean {
  switch (change.kind) {
    case 'set-role':
      return member.wantedRole !== change.role
    case 'move':
      return (
        (change.peerAddress ?? member.peerAddress) !== member.peerAddress ||
        (change.clientAddress ?? member.clientAddress) !== member.clientAddress
      )
    default:
      return true
  }
}
