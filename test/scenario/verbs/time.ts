import type { Command } from '../command.ts'
import { scenarioConfig } from '../world.ts'
import type { World } from '../world.ts'

/**
 * `tick 1 5`, `tick 1 heartbeat`, `tick 1 election`: time passes for one member; its output is not
 * processed yet.
 */
export function tick(world: World, { words: [id = '', amount = '1'] }: Command): void {
  const member = world.member(id)
  const { heartbeatTicks, electionTicks } = scenarioConfig(member.id, {})
  // A drawn election timeout is always shorter than twice the configured one.
  const ticks =
    amount === 'heartbeat' ? heartbeatTicks : amount === 'election' ? 2 * electionTicks : Number(amount)
  for (let at = 0; at < ticks; at++) member.raft.tick()
}

/** `campaign 1`: member 1 campaigns now, without waiting for its election timeout. */
export function campaign(world: World, { words: [id = ''] }: Command): void {
  world.member(id).raft.campaign()
}

/** `lead 1`: makes member 1 the leader and lets all members settle; prints only the result. */
export function lead(world: World, { words: [id = ''] }: Command): void {
  const member = world.member(id)
  member.raft.campaign()
  world.stabilize([...world.members.keys()])
  world.takeLines()
  const { role, term, commit } = member.raft.status()
  world.print(`${id} is ${role} term=${term} commit=${commit}`)
}
