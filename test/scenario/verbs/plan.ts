import { assert } from '../../../base/assert.ts'
import { planChange } from '../../../raft/core/member-change.ts'
import type { MemberChange } from '../../../raft/core/member-change.ts'
import { nodeId } from '../../../raft/core/types.ts'
import type { LogIndex } from '../../../raft/core/types.ts'
import { knowledgeOf } from '../knowledge.ts'
import { memberInfo } from '../member-infos.ts'
import type { Command } from '../command.ts'
import type { World } from '../world.ts'

/**
 * Has a leader plan a change and make it; prints whether it is accepted:
 *
 * - `plan 1 add 4 [replaces=3]`, `plan 1 remove 3`, `plan 1 promote 4`
 * - `plan 1 voter 4`, `plan 1 learner 3`, `plan 1 move 3 to=x:1`
 *
 * A learner has caught up here once it has the whole log.
 */
export function plan(world: World, { words: [id = '', kind = '', target = ''], options }: Command): void {
  const { raft } = world.member(id)
  const wanted = changeOf(kind, Number(target), options, raft.status().commit)
  const plan = planChange(raft.configuration, wanted, knowledgeOf(raft))
  switch (plan.kind) {
    case 'done':
      return world.print(`${id}: the change is in force already`)
    case 'refused':
      return world.print(`${id} refuses: ${plan.reason}`)
    case 'change': {
      const answer = raft.changeConfiguration(plan)
      if (answer.kind === 'accepted') world.print(`${id} accepts the change at ${answer.index}`)
      else world.print(`${id} does not change: ${answer.reason}`)
    }
  }
}

function changeOf(
  kind: string,
  whom: number,
  options: ReadonlyMap<string, string>,
  basedOn: LogIndex,
): MemberChange {
  const id = nodeId(whom)
  switch (kind) {
    case 'add': {
      const { name, peerAddress, clientAddress, version, featureLevel } = memberInfo(whom, 'learner')
      const replaced = options.get('replaces')
      const replaces = replaced === undefined ? null : nodeId(Number(replaced))
      const facts = { peerAddress, clientAddress, version, featureLevel, replaces, addedMs: 1 }
      return { kind, member: { id, name, wantedRole: 'voter', ...facts }, basedOn }
    }
    case 'voter':
    case 'learner':
      return { kind: 'set-role', id, role: kind }
    case 'move':
      return { kind, id, peerAddress: options.get('to') ?? null, clientAddress: null }
    default:
      assert(kind === 'remove' || kind === 'promote', `"${kind}" is a change`)
      return { kind, id }
  }
}
