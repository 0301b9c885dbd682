import { describeConfiguration } from '../../../raft/core/describe.ts'
import type { Command } from '../command.ts'
import { describeEntries } from '../world.ts'
import type { World } from '../world.ts'

/** `status 1`: prints its status, and on a leader that of its followers. */
export function status(world: World, { words }: Command): void {
  for (const id of words) {
    const { role, term, leader, vote, commit, lastIndex, persistedIndex, followers, transferTarget } = world
      .member(id)
      .raft.status()
    const who = `${id} ${role} term=${term} vote=${vote ?? 'none'} leader=${leader ?? 'none'}`
    const transfer = transferTarget === null ? '' : ` transfer=${transferTarget}`
    world.print(`${who} commit=${commit} persisted=${persistedIndex} last=${lastIndex}${transfer}`)
    for (const follower of followers) {
      const active = follower.recentlyActive ? '' : ' silent'
      world.print(`  ${follower.id} ${follower.state} match=${follower.match} next=${follower.next}${active}`)
    }
  }
}

/** `log 1`: prints its log, durable or not, and the configuration in force. */
export function log(world: World, { words }: Command): void {
  for (const id of words) {
    const { memory, raft } = world.member(id)
    world.print(
      `${id} ${describeEntries(memory.entries)} ${describeConfiguration(raft.status().configuration)}`,
    )
  }
}
