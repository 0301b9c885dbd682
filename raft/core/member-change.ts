import { assertNever } from '../../base/assert.ts'
import { membersMax, votersMax } from './config.ts'
import { isQuorum } from './quorum.ts'
import type { Configuration, LogIndex, MemberInfo, MemberRole, NodeId } from './types.ts'

/** A member to add: all members begin as learners. */
export type NewMember = Omit<MemberInfo, 'role'>

/** One membership change. All changes are idempotent. */
export type MemberChange =
  /**
   * Adds a member as a learner; the leader promotes it once it has caught up, unless `wantedRole`
   * pins it.
   *
   * An id enters the configuration at most once. `basedOn` is an index that was committed when the
   * id was drawn, so every addition of the id is a later entry. Once an addition is committed,
   * every leader knows a configuration later than `basedOn` and refuses a repetition of the
   * request, however late it arrives and whether or not the member was removed since.
   */
  | { readonly kind: 'add'; readonly member: NewMember; readonly basedOn: LogIndex }
  | { readonly kind: 'remove'; readonly id: NodeId }
  /** `learner`: takes effect at once, and pins the member. `voter`: once it has caught up. */
  | { readonly kind: 'set-role'; readonly id: NodeId; readonly role: MemberRole }
  /** Changes the addresses of a member, each `host:port`; null leaves that address unchanged. */
  | {
      readonly kind: 'move'
      readonly id: NodeId
      readonly peerAddress: string | null
      readonly clientAddress: string | null
    }
  /**
   * Makes a caught-up learner a voter, and removes the member that it replaces in the same change.
   */
  | { readonly kind: 'promote'; readonly id: NodeId }

/**
 * Why a change is not made. `change-pending` and `term-unsettled` are temporary and retried, and so
 * is `below-live-quorum` during the first election timeout of a leader; the others are returned to
 * the requester.
 *
 * - `name-taken`, `address-taken`: another member has this name or address
 * - `id-taken`: another member has this id, or may have had it: the members changed since it was
 *   drawn
 * - `unknown-member`: no member has that id
 * - `replaced-unknown`: the member to replace does not exist
 * - `replaces-pinned`: a pinned learner cannot replace a member
 * - `last-voter`: no voter would be left
 * - `below-live-quorum`: no majority of the resulting voters is in contact now
 * - `not-caught-up`: the learner lags too far to vote
 * - `too-many-members`: a limit of `config.ts`
 * - `change-pending`: the previous change is not finished
 * - `term-unsettled`: the leader is new, and has not committed an entry of its term
 * - `impossible`: invalid in every configuration, such as a malformed address
 */
export type ChangeRefusal =
  | 'name-taken'
  | 'id-taken'
  | 'address-taken'
  | 'unknown-member'
  | 'replaced-unknown'
  | 'replaces-pinned'
  | 'last-voter'
  | 'below-live-quorum'
  | 'not-caught-up'
  | 'too-many-members'
  | 'change-pending'
  | 'term-unsettled'
  | 'impossible'

/** State of a leader that membership changes depend on, besides the configuration. */
export type ChangeContext = {
  /**
   * Index of the committed configuration in force: of its entry, or of the base of the log if the
   * entry was compacted.
   */
  readonly configurationIndex: LogIndex
  /** The previous change is not committed, or its joint configuration not left. */
  readonly pending: boolean
  /** An entry of the leader's term is committed. */
  readonly settled: boolean
  /** Members in contact within the last election timeout, the leader included. */
  readonly responding: ReadonlySet<NodeId>
  /** Learners whose last catch-up round was short (thesis §4.2.1). */
  readonly caughtUp: ReadonlySet<NodeId>
}

export type ChangePlan =
  /** @param members all members of the new configuration, for `Raft.changeConfiguration` */
  | { readonly kind: 'change'; readonly members: readonly MemberInfo[] }
  | { readonly kind: 'done' }
  /** @param message one line with the remedy */
  | { readonly kind: 'refused'; readonly reason: ChangeRefusal; readonly message: string }

/** Returns the members after the change, or that the change is done already or refused. */
export function planChange(
  configuration: Configuration,
  change: MemberChange,
  context: ChangeContext,
): ChangePlan {
  if (!context.settled) return refused('term-unsettled', 'the leader is new: retry in a moment')
  if (context.pending || configuration.votersOutgoing !== null) {
    return refused('change-pending', 'another membership change is in progress: retry when it is done')
  }
  const plan = planned(configuration.members, change, context)
  return plan.kind === 'change' ? checked(configuration, plan, context) : plan
}

function planned(
  members: readonly MemberInfo[],
  change: MemberChange,
  { caughtUp, configurationIndex }: ChangeContext,
): ChangePlan {
  switch (change.kind) {
    case 'add':
      return add(members, change, configurationIndex)
    case 'remove':
      // No id is added twice, so a missing member was removed.
      return members.some(({ id }) => id === change.id)
        ? { kind: 'change', members: without(members, change.id) }
        : done
    case 'set-role':
      return onMember(members, change.id, (member) => withRole(member, change.role))
    case 'move':
      return move(members, change)
    case 'promote':
      return promote(members, change.id, caughtUp)
    default:
      return assertNever(change)
  }
}

function add(
  members: readonly MemberInfo[],
  { member: added, basedOn }: Extract<MemberChange, { readonly kind: 'add' }>,
  configurationIndex: LogIndex,
): ChangePlan {
  const same = members.find(({ id }) => id === added.id)
  if (same !== undefined) {
    const isSame = same.name === added.name && same.peerAddress === added.peerAddress
    if (isSame) return done
    return refused(
      'id-taken',
      `"${same.name}" already has this id: let the new member join again, it draws another id`,
    )
  }
  if (configurationIndex > basedOn) {
    return refused(
      'id-taken',
      'the members changed since this id was drawn: let the new member join again, it draws another id',
    )
  }
  const named = members.find(({ name }) => name === added.name)
  if (named !== undefined) {
    return refused(
      'name-taken',
      `a member is called "${added.name}": choose another name, or remove that one first`,
    )
  }
  if (added.replaces !== null) {
    if (!members.some(({ id }) => id === added.replaces)) {
      return refused(
        'replaced-unknown',
        'the member to replace does not exist: add the new one without --replaces',
      )
    }
    if (added.wantedRole === 'learner') {
      return refused(
        'replaces-pinned',
        'a pinned learner cannot replace a member: add it without --replaces, and remove the other one',
      )
    }
  }
  return (
    addressTaken(members, added, added.replaces) ?? {
      kind: 'change',
      members: [...members, { ...added, role: 'learner' }],
    }
  )
}

function move(
  members: readonly MemberInfo[],
  change: Extract<MemberChange, { readonly kind: 'move' }>,
): ChangePlan {
  const { id, peerAddress, clientAddress } = change
  const replaces = members.find((member) => member.id === id)?.replaces ?? null
  // Only the new addresses are checked: the member may keep its current ones.
  const taken = addressTaken(
    members,
    { id, peerAddress: peerAddress ?? '', clientAddress: clientAddress ?? '' },
    replaces,
  )
  return (
    taken ??
    onMember(members, id, (member) => ({
      ...member,
      peerAddress: peerAddress ?? member.peerAddress,
      clientAddress: clientAddress ?? member.clientAddress,
    }))
  )
}

/**
 * Checks that no other member uses these addresses: callers could not distinguish two members at
 * one address.
 *
 * @param wanted '': no address
 * @param replaces a member whose addresses may be reused by its replacement
 * @returns the refusal; null: all wanted addresses are free
 */
function addressTaken(
  members: readonly MemberInfo[],
  wanted: Pick<MemberInfo, 'id' | 'peerAddress' | 'clientAddress'>,
  replaces: NodeId | null,
): ChangePlan | null {
  for (const { id, name, replaces: replaced, ...member } of members) {
    if (id === wanted.id || id === replaces || replaced === wanted.id) continue
    const shared = [member.peerAddress, member.clientAddress].find(
      (address) => address !== '' && (address === wanted.peerAddress || address === wanted.clientAddress),
    )
    if (shared === undefined) continue
    const way = 'give another, or remove or move that member first'
    return refused('address-taken', `"${name}" is at ${shared}: ${way}`)
  }
  return null
}

function withRole(member: MemberInfo, role: MemberRole): MemberInfo {
  // The leader promotes a learner whose wanted role is `voter`, once it has caught up.
  return role === 'voter'
    ? { ...member, wantedRole: 'voter' }
    : { ...member, role, wantedRole: role, replaces: null }
}

function promote(members: readonly MemberInfo[], id: NodeId, caughtUp: ReadonlySet<NodeId>): ChangePlan {
  const member = members.find((candidate) => candidate.id === id)
  if (member === undefined) return unknown
  if (member.role === 'voter') return done
  if (!caughtUp.has(id)) {
    const way = 'it is promoted automatically once it has caught up'
    return refused('not-caught-up', `"${member.name}" lags behind the leader: ${way}`)
  }
  const rest = members.filter((other) => other.id !== id && other.id !== member.replaces)
  return {
    kind: 'change',
    members: [
      ...rest.map(freed(member.replaces)),
      { ...member, role: 'voter', wantedRole: 'voter', replaces: null },
    ],
  }
}

function onMember(
  members: readonly MemberInfo[],
  id: NodeId,
  act: (member: MemberInfo) => MemberInfo,
): ChangePlan {
  const member = members.find((candidate) => candidate.id === id)
  if (member === undefined) return unknown
  const next = act(member)
  const keys = ['role', 'wantedRole', 'peerAddress', 'clientAddress', 'replaces'] as const
  if (keys.every((key) => member[key] === next[key])) return done
  return { kind: 'change', members: members.map((other) => (other === member ? next : other)) }
}

function without(members: readonly MemberInfo[], id: NodeId): readonly MemberInfo[] {
  return members.filter((member) => member.id !== id).map(freed(id))
}

/** Returns a function that turns a learner that would replace `gone` into an ordinary learner. */
function freed(gone: NodeId | null): (member: MemberInfo) => MemberInfo {
  return (member) => (gone !== null && member.replaces === gone ? { ...member, replaces: null } : member)
}

/**
 * Checks every change: at least one voter, not too many members, and, if the voters change, a
 * quorum of the new voters in contact.
 */
function checked(
  configuration: Configuration,
  plan: Extract<ChangePlan, { readonly kind: 'change' }>,
  { responding }: ChangeContext,
): ChangePlan {
  const { members } = plan
  const voters = members.filter(({ role }) => role === 'voter').map(({ id }) => id)
  if (voters.length === 0) {
    return refused('last-voter', 'it is the only voter: add another member first, and wait until it votes')
  }
  if (
    members.length > Math.max(membersMax, configuration.members.length) ||
    tooManyVoters(configuration, members)
  ) {
    const most = `a cluster has at most ${votersMax} voters and ${membersMax} members`
    return refused('too-many-members', `${most}: remove one first, or let the new one replace it`)
  }
  const same =
    voters.length === configuration.voters.length && voters.every((id) => configuration.voters.includes(id))
  if (same || isQuorum({ voters, votersOutgoing: null }, (id) => responding.has(id))) return plan
  const silent = members
    .filter(({ id, role }) => role === 'voter' && !responding.has(id))
    .map(({ name }) => `"${name}"`)
  const way = 'start them, or first remove or replace those that are lost'
  return refused('below-live-quorum', `no change could be committed without ${silent.join(', ')}: ${way}`)
}

/**
 * Returns whether the change leads to more than `votersMax` voters, and to more voters than now.
 * Learners that are to be promoted count, voters that they replace do not.
 */
function tooManyVoters(configuration: Configuration, members: readonly MemberInfo[]): boolean {
  return votersInTheEnd(members) > Math.max(votersMax, votersInTheEnd(configuration.members))
}

function votersInTheEnd(members: readonly MemberInfo[]): number {
  const replaced = new Set(members.map(({ replaces }) => replaces))
  return members.filter(
    ({ id, role, wantedRole }) => (role === 'voter' || wantedRole === 'voter') && !replaced.has(id),
  ).length
}

const done: ChangePlan = Object.freeze({ kind: 'done' })
const unknown = refused('unknown-member', 'there is no such member: list the members')

function refused(reason: ChangeRefusal, message: string): ChangePlan {
  return { kind: 'refused', reason, message }
}
