import type { Message } from '../../../raft/core/message.ts'
import { nodeId } from '../../../raft/core/types.ts'
import type { Command } from '../command.ts'
import type { World } from '../world.ts'

/**
 * `stabilize`, `stabilize 1 2`: runs all members, or these, until they have neither work nor
 * messages.
 */
export function stabilize(world: World, { words }: Command): void {
  world.stabilize(words.length === 0 ? [...world.members.keys()] : words.map((id) => nodeId(Number(id))))
}

/**
 * `settle`, `settle 1 2`: like `stabilize`, but prints nothing, for steps that other transcripts
 * show.
 */
export function settle(world: World, command: Command): void {
  const reported = world.takeLines()
  stabilize(world, command)
  world.takeLines()
  for (const line of reported) world.print(line)
}

/**
 * `deliver 1->2`, `deliver 1->2 heartbeat count=1`: first all members do their work, so that due
 * messages are sent, then the messages that match arrive, at most `count`, the oldest first. Their
 * receivers work afterwards. With `order=newest` the newest arrive first.
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

/** `hold 3->1`, `hold 3->1 append-accepted`: what matches is delayed until `release`. */
export function hold(world: World, command: Command): void {
  workAll(world)
  world.held.push(...takeMatching(world, command))
}

/** `release`: sends the held messages, after everything that was sent since. */
export function release(world: World): void {
  world.network.push(...world.held.splice(0))
}

/**
 * `copy 1->2`, `copy 1->2 snapshot`: duplicates the matching messages; the copies are held until
 * `release`.
 */
export function copy(world: World, command: Command): void {
  workAll(world)
  world.held.push(...matching(world, command).map((message) => ({ ...message })))
}

/** `isolate 3`: drops all messages between these members and the others. */
export function isolate(world: World, { words }: Command): void {
  for (const word of words) world.isolated.add(nodeId(Number(word)))
}

/** `cut 2->1`: drops messages from 2 to 1, not those from 1 to 2. */
export function cut(world: World, { words }: Command): void {
  for (const word of words) world.cutLinks.add(word)
}

/** `heal`: restores all links. */
export function heal(world: World): void {
  world.isolated.clear()
  world.cutLinks.clear()
}

/** `unreachable 1 2`: reports to 1 that 2 is unreachable. */
export function unreachable(world: World, { words: [id = '', peer = ''] }: Command): void {
  world.member(id).raft.reportUnreachable(nodeId(Number(peer)))
}

/** `ended 1 2`: the connections of 1 to and from 2 ended, and 2 does not accept new ones. */
export function ended(world: World, { words: [id = '', peer = ''] }: Command): void {
  world.member(id).raft.reportEnded(nodeId(Number(peer)), true)
}

/** `connected 1 2`: a connection between 1 and 2 exists again, as 1 reports. */
export function connected(world: World, { words: [id = '', peer = ''] }: Command): void {
  world.member(id).raft.reportEnded(nodeId(Number(peer)), false)
}

function workAll(world: World): void {
  for (const member of world.members.values()) world.work(member)
}

function takeMatching(world: World, command: Command): readonly Message[] {
  const taken = matching(world, command)
  world.network = world.network.filter((message) => !taken.includes(message))
  return taken
}

/** Oldest first, unless `order=newest`. */
function matching(world: World, { words: [link = '', kind], options }: Command): readonly Message[] {
  const [from, to] = link.split('->')
  const found = world.network.filter(
    (message) =>
      String(message.from) === from &&
      String(message.to) === to &&
      (kind === undefined || message.kind === kind),
  )
  if (options.get('order') === 'newest') found.reverse()
  return found.slice(0, Number(options.get('count') ?? found.length))
}
