import { nodeId } from '../../raft/index.ts'
import { StateRepair } from '../../src/membership/state-repair.ts'
import type { StateDecision } from '../../src/membership/state-repair.ts'
import type { Life } from './life.ts'
import type { Member } from './process.ts'

/** Longer than an election. */
const decisionMs = 5_000

/** As `orchctl member repair` does it, with `--from`. @throws MembersFailure, ConsensusFailure */
export async function repairFrom(member: Member, from: Member): Promise<void> {
  await decide(from, (name) => ({ kind: 'trust', name, id: nodeId(from.id) }))
  const source = nameOf(from)
  await decide(member, (name) => ({ kind: 'repair', name, id: nodeId(member.id), from: source }))
}

/**
 * Whom an operator, who knows which states are right, would repair another member from; undefined: nobody is right and can
 * lead.
 *
 * @param target null: any
 */
export function sourceOf(members: readonly Member[], target: Member | null): Member | undefined {
  const commit = Math.max(...members.map(({ life }) => life?.node.status.commit ?? 0))
  const able = members.filter((one) => {
    return one !== target && one.isRight && votes(one) && (one.life?.node.status.lastIndex ?? 0) >= commit
  })
  const leads = able.find(({ life }) => life?.node.status.role === 'leader')
  return leads ?? able.find(({ isSuspect }) => !isSuspect) ?? able[0]
}

async function decide(member: Member, decision: (name: string) => StateDecision): Promise<void> {
  const { life } = member
  const name = nameOf(member)
  if (life?.watch === null || life?.machine === null || life === null || name === '') return
  const { guard, reports } = life.watch
  const repair = new StateRepair({
    ...{ state: life.machine, guard, reports, consensus: life.node, clock: life.clock },
  })
  await repair.decide(decision(name), life.clock.monotonicMs() + decisionMs)
}

function nameOf({ id, life }: Member): string {
  return membersOf(life).find((one) => one.id === nodeId(id))?.name ?? ''
}

function membersOf(life: Life | null): Life['node']['status']['configuration']['members'] {
  return life?.node.status.configuration.members ?? []
}

function votes({ id, life }: Member): boolean {
  return life?.node.status.configuration.voters.includes(nodeId(id)) === true
}
