import type { Message } from '../../../raft/core/message.ts'
import { nodeId } from '../../../raft/core/types.ts'
import type { Command } from '../runner.ts'
import type { World } from '../world.ts'

/** `stabilize`, `stabilize 1 2`: these work and talk among themselves until nothing moves. */
export function stabilize(world: World, { words }: Command): void {
  world.stabilize(words.length === 0 ? [...world.members.keys()] : words.map((id) => nodeId(Number(id))))
}

/**
 * `deliver 1->2`, `deliver 1->2 heartbeat count=1`: first everybody's work is done, so that what is due is on
 * its way, then the oldest messages that match arrive. Their receivers work afterwards.
 */
export function deliver(world: World, command: Command): void {
  workAll(world)
  for (const message of takeMatching(world, command)) world.deliver(message)
  workAll(world)
}

/** `drop 1->2`, `drop 1->2 heartbeat count=1`: as `deliver`, but they are lost. */
export function drop(world: World, command: Command): void {
  workAll(world)
  for (const message of takeMatching(world, command)) world.lose(message)
}

/** `isolate 3`: nothing passes between these and the others. */
export function isolate(world: World, { words }: Command): void {
  for (const word of words) world.isolated.add(nodeId(Number(word)))
}

export function heal(world: World): void {
  world.isolated.clear()
}

/** `unreachable 1 2`: the link of 1 to 2 is known to be down. */
export function unreachable(world: World, { words: [id = '', peer = ''] }: Command): void {
  world.member(id).raft.reportUnreachable(nodeId(Number(peer)))
}

function workAll(world: World): void {
  for (const member of world.members.values()) world.work(member)
}

function takeMatching(world: World, { words: [link = '', kind], options }: Command): readonly Message[] {
  const [from, to] = link.split('->')
  const matching = world.network.filter(
    (message) =>
      String(message.from) === from &&
      String(message.to) === to &&
      (kind === undefined || message.kind === kind),
  )
  const taken = matching.slice(0, Number(options.get('count') ?? matching.length))
  world.network = world.network.filter((message) => !taken.includes(message))
  return taken
}
