import { nodeId } from '../../../raft/core/types.ts'
import { memberInfos } from '../member-infos.ts'
import type { Command } from '../command.ts'
import type { World } from '../world.ts'
import { numbers } from './setup.ts'

/** `propose 1 "a" "b"`: one proposal of all the data. */
export function propose(world: World, { words: [id = ''], data }: Command): void {
  const { raft } = world.member(id)
  const bytes = data.map((text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0)))
  const answer = raft.propose(bytes, raft.term)
  if (answer.kind === 'accepted') world.print(`${id} accepts from ${answer.first}`)
  else world.print(`${id} drops the proposal: ${answer.reason}`)
}

/** `read 1`: a ReadIndex round. */
export function read(world: World, { words: [id = ''] }: Command): void {
  const answer = world.member(id).raft.readIndex()
  if (answer.kind === 'accepted') world.print(`${id} opens read ${answer.context}`)
  else world.print(`${id} drops the read: ${answer.reason}`)
}

/** `transfer 1 2`: member 1 transfers leadership to member 2. */
export function transfer(world: World, { words: [id = '', to = ''] }: Command): void {
  const answer = world.member(id).raft.transferLeadership(nodeId(Number(to)))
  if (answer.kind === 'refused') world.print(`${id} refuses the transfer: ${answer.reason}`)
}

/** `resign 1`: the leader steps down without a successor. */
export function resign(world: World, { words: [id = ''] }: Command): void {
  const answer = world.member(id).raft.resign()
  if (answer.kind === 'refused') world.print(`${id} does not resign: ${answer.reason}`)
}

/** `change 1 voters=1,2,3 learners=4`: leader 1 changes the membership to this. */
export function change(world: World, { words: [id = ''], options }: Command): void {
  const members = memberInfos(numbers(options.get('voters')), numbers(options.get('learners')))
  const answer = world.member(id).raft.changeConfiguration({ members })
  if (answer.kind === 'accepted') world.print(`${id} accepts the change at ${answer.index}`)
  else world.print(`${id} does not change: ${answer.reason}`)
}
