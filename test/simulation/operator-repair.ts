import { nodeId } from '../../raft/index.ts'
import { StateRepair } from '../../src/membership/state-repair.ts'
import type { StateDecision } from '../../src/membership/state-repair.ts'
import type { ProcessInstance } from './process-instance.ts'

type RunningMember = { readonly id: number; readonly instance: ProcessInstance | null }

type RepairSource = RunningMember & { readonly isRight: boolean; readonly isSuspect: boolean }

/** Longer than an election. */
const decisionMs = 5_000

/**
 * Repairs a member as `orchctl member repair --from` does.
 *
 * @throws MembersError, ConsensusError
 */
export async function repairFrom(member: RunningMember, from: RunningMember): Promise<void> {
  await decide(from, (name) => ({ kind: 'trust', name, id: nodeId(from.id) }))
  const source = nameOf(from)
  await decide(member, (name) => ({ kind: 'repair', name, id: nodeId(member.id), from: source }))
}

/**
 * Returns the member that an operator, with knowledge of the right states, would repair others
 * from; undefined: no right member can lead.
 *
 * @param target null: any
 */
export function sourceOf<Source extends RepairSource>(
  members: readonly Source[],
  target: Source | null,
): Source | undefined {
  const commit = Math.max(...members.map(({ instance }) => instance?.node.status.commit ?? 0))
  const able = members.filter((one) => {
    return one !== target && one.isRight && votes(one) && (one.instance?.node.status.lastIndex ?? 0) >= commit
  })
  const leads = able.find(({ instance }) => instance?.node.status.role === 'leader')
  return leads ?? able.find(({ isSuspect }) => !isSuspect) ?? able[0]
}

async function decide(member: RunningMember, decision: (name: string) => StateDecision): Promise<void> {
  const { instance } = member
  const name = nameOf(member)
  if (instance?.watch === null || instance?.machine === null || instance === null || name === '') return
  const { guard, reports } = instance.watch
  const repair = new StateRepair({
    ...{ state: instance.machine, guard, reports, consensus: instance.node, clock: instance.clock },
  })
  await repair.decide(decision(name), instance.clock.monotonicMs() + decisionMs)
}

function nameOf({ id, instance }: RunningMember): string {
  return membersOf(instance).find((one) => one.id === nodeId(id))?.name ?? ''
}

function membersOf(
  instance: ProcessInstance | null,
): ProcessInstance['node']['status']['configuration']['members'] {
  return instance?.node.status.configuration.members ?? []
}

function votes({ id, instance }: RunningMember): boolean {
  return instance?.node.status.configuration.voters.includes(nodeId(id)) === true
}
