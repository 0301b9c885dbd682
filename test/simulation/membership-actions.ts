import { nodeId } from '../../raft/index.ts'
import type { Joining, MemberChange, MemberInfo, NewMember } from '../../raft/index.ts'
import { featureLevelMax, programVersion } from '../../src/version.ts'
import type { Memberships } from './checkers/memberships.ts'
import type { ChangeOutcome, Operator } from './clients/operator.ts'
import type { MetFault } from './coverage.ts'
import type { QuorumGuard } from './quorum-guard.ts'
import type { MembershipAction } from './membership-plan.ts'
import type { Member } from './member.ts'
import { findTarget, leaderOf } from './target.ts'
import type { World } from './world.ts'

export type MembershipActionsOptions = {
  readonly world: World
  readonly operator: Operator
  readonly quorumGuard: QuorumGuard
  readonly memberships: Memberships
  /** Grows by the members that `admit` creates. */
  readonly members: readonly Member[]
  /** Creates a member that the cluster admitted, without starting it. */
  readonly admit: (id: number, joining: Joining) => Member
  readonly met: (fault: MetFault) => void
}

type Join = Extract<MembershipAction, { readonly kind: 'join' }>
type Replacement = { readonly newcomer: number; readonly replaced: number }

/**
 * Adds, removes and changes members. Each request is retried until it is answered, also after the
 * faults.
 */
export class MembershipActions {
  readonly #options: MembershipActionsOptions
  readonly #replacements: Replacement[] = []
  /** By the member's id. */
  readonly #additions = new Map<number, MemberChange>()
  #nextId: number
  #requested = 0
  /** Admitted members that are being started. */
  #starting = 0

  constructor(options: MembershipActionsOptions) {
    this.#options = options
    this.#nextId = options.members.length + 1
  }

  /** Returns whether any change was requested. */
  get any(): boolean {
    return this.#requested > 0
  }

  /** Returns whether all requests are answered and all admitted members started. */
  get settled(): boolean {
    return this.#options.operator.waiting.length === 0 && this.#starting === 0
  }

  /** Returns whether a member was replaced that could not have recovered. */
  get unrecoverableReplaced(): boolean {
    const { memberships, members } = this.#options
    return this.#replacements.some(({ newcomer, replaced }) => {
      const voted = memberships.decided.configuration.voters.some((id) => id === newcomer)
      const unrecoverable = members.find(({ id }) => id === replaced)?.recoverable === false
      return voted && unrecoverable && memberships.isGone(replaced)
    })
  }

  /** @returns whether a change was requested */
  do(fault: MembershipAction): boolean {
    if (fault.kind === 'join') return this.#join(fault)
    const { members, met } = this.#options
    const { id } = findTarget(this.#present, fault.target)
    if (fault.kind !== 'remove') return this.#request(changeOf(fault, id), () => undefined)
    const leads = leaderOf(members)?.id === id
    return this.#request(changeOf(fault, id), ({ kind }) => {
      if (leads && kind === 'done') met('leader-removed')
      if (kind === 'done') this.#repeatAddition(id)
    })
  }

  get #present(): readonly Member[] {
    return this.#options.members.filter(({ knowsRemoval }) => !knowsRemoval)
  }

  /**
   * Requests the addition of a removed member again, as a repeated or delayed request would.
   * `Memberships` fails if the member is added again.
   */
  #repeatAddition(id: number): void {
    const addition = this.#additions.get(id)
    if (addition === undefined) return
    this.#request(addition, ({ kind }) => {
      if (kind === 'refused') this.#options.met('late-addition-refused')
    })
  }

  #join(fault: Join, drawsLeft = drawsMax): boolean {
    const { world, members, memberships, met, admit } = this.#options
    const replaced = this.#replaced(fault)
    const id = this.#nextId
    const basedOn = memberships.committedIndex
    const change = { kind: 'add', member: this.#newcomer(id, fault, replaced), basedOn } as const
    this.#additions.set(id, change)
    const isAsked = this.#request(change, (outcome) => {
      // The members changed in between: draws another id, as a server does.
      if (outcome.kind === 'refused') {
        if (outcome.reason === 'id-taken' && drawsLeft > 1) this.#join(fault, drawsLeft - 1)
        return
      }
      met('member-joined')
      const { configuration, index } = outcome.changed
      this.#starting++
      world.schedule(fault.startMs, `m${id} joins`, null, () => {
        this.#starting--
        const clusterId = members.flatMap(({ clusterId: known }) => known ?? [])[0]
        if (clusterId === undefined) throw new Error('only a founded cluster commits a change')
        admit(id, { clusterId, members: configuration.members, configurationIndex: index }).start()
      })
    })
    if (!isAsked) return false
    this.#nextId++
    if (replaced !== null) this.#replacements.push({ newcomer: id, replaced })
    return true
  }

  #newcomer(id: number, fault: Join, replaced: number | null): NewMember {
    const { world, members, memberships } = this.#options
    const addresses = addressesOf(id)
    const former = members.findLast((member) => memberships.isGone(member.id))
    return {
      ...addresses,
      // Names are reused, ids never.
      name: fault.isNamesake && former !== undefined ? addressesOf(former.id).name : addresses.name,
      ...{ wantedRole: fault.role, version: programVersion, featureLevel: featureLevelMax },
      replaces: replaced === null ? null : nodeId(replaced),
      addedMs: 1 + Math.floor(world.now),
    }
  }

  #replaced({ replaces, target }: Join): number | null {
    if (replaces === 'none') return null
    const { voters } = this.#options.memberships.decided.configuration
    const voting = this.#present.filter(({ id }) => voters.includes(nodeId(id)))
    if (voting.length === 0) return null
    const dead = voting.find(({ recoverable }) => !recoverable) ?? voting.find(({ running }) => !running)
    return (replaces === 'dead' && dead !== undefined ? dead : findTarget(voting, target)).id
  }

  #request(change: MemberChange, then: (outcome: ChangeOutcome) => void): boolean {
    const { operator, quorumGuard, met, world } = this.#options
    if (!quorumGuard.canChange(change)) return false
    this.#requested++
    operator.request(change, (outcome) => {
      const detail = outcome.kind === 'done' ? `done after ${outcome.tries}` : outcome.reason
      world.note(`nemesis ${change.kind} ${idOf(change)}: ${detail}`)
      if (outcome.kind === 'refused') met('change-refused')
      else if (outcome.tries > 1) met('change-retried')
      then(outcome)
    })
    return true
  }
}

/** Maximum number of ids that are drawn for one joining process. */
const drawsMax = 3

/** The initial members, with which the logs of all founders begin. */
export function foundersOf(voters: number, learners: number): readonly MemberInfo[] {
  return Array.from({ length: voters + learners }, (_, at): MemberInfo => {
    const role = at < voters ? 'voter' : 'learner'
    return { ...addressesOf(at + 1), role, wantedRole: role, version: '0', featureLevel: 1 }
  })
}

function addressesOf(id: number): Omit<MemberInfo, 'role' | 'wantedRole' | 'version' | 'featureLevel'> {
  const name = `m${id}`
  return {
    ...{ id: nodeId(id), name, peerAddress: `${name}:1`, clientAddress: `${name}:2` },
    ...{ replaces: null, addedMs: 0 },
  }
}

function changeOf(fault: Exclude<MembershipAction, Join>, id: number): MemberChange {
  switch (fault.kind) {
    case 'remove':
      return { kind: 'remove', id: nodeId(id) }
    case 'set-role':
      return { kind: 'set-role', id: nodeId(id), role: fault.role }
    case 'move':
      return { kind: 'move', id: nodeId(id), peerAddress: `m${id}:${fault.port}`, clientAddress: null }
  }
}

function idOf(change: MemberChange): number {
  return change.kind === 'add' ? change.member.id : change.id
}
