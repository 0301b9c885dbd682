import { assertNever } from '../../base/assert.ts'
import type {
  Configuration,
  Consensus,
  MemberChange,
  MemberInfo,
  MemberRole,
  NodeId,
} from '../../raft/index.ts'
import { MembersFailure } from './members.ts'

/** A change of a member, by its name. */
export type NamedChange = {
  readonly name: string
  /**
   * Whom the asker has in mind. Names are used again: who asks once more, as no answer came, must not remove or change a member
   * that got the name meanwhile. null: whoever has the name.
   */
  readonly id: NodeId | null
} & (
  | { readonly kind: 'remove' }
  | { readonly kind: 'set-role'; readonly role: MemberRole }
  /** null: as it is. */
  | { readonly kind: 'move'; readonly peerAddress: string | null; readonly clientAddress: string | null }
)

export type MemberAdminParts = {
  readonly consensus: Pick<Consensus<never>, 'barrier' | 'changeMembers'>
  /** As of the newest entry that memory holds. */
  readonly configuration: () => Configuration
}

/** Changes of the members there are, said by whoever runs the cluster. Each may be said again. */
export class MemberAdmin {
  readonly #parts: MemberAdminParts

  constructor(parts: MemberAdminParts) {
    this.#parts = parts
  }

  /**
   * Whom the name means is looked up behind a read barrier: a member that lags knows neither the latest members nor that
   * a name is another's by now.
   *
   * @param deadlineMs on the monotonic clock
   * @returns whether there was anything to change when the name was looked up
   * @throws MembersFailure `unknown-member`; MembershipFailure, ConsensusFailure
   */
  async change(change: NamedChange, deadlineMs: number): Promise<boolean> {
    const { consensus, configuration } = this.#parts
    await consensus.barrier(deadlineMs)
    const { members } = configuration()
    const named = members.find(({ name }) => name === change.name)
    const member = change.id === null || named?.id === change.id ? named : undefined
    if (member === undefined) {
      // No id is used again, so who was meant is gone; without one only who is in the configuration can be meant.
      if (change.kind === 'remove') return false
      if (named !== undefined) {
        const message = `${change.name} is another member by now, ${named.id} and not ${change.id}: look, and ask again`
        throw new MembersFailure('unknown-member', message)
      }
      const names = members
        .map(({ name }) => name)
        .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
        .join(', ')
      throw new MembersFailure('unknown-member', `there is no member ${change.name}: there are ${names}`)
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
