import { logIndex, nodeId } from '../../../raft/core/types.ts'
import type { Command } from '../command.ts'
import type { World } from '../world.ts'

/** `slow-disk 1`: its writes are finished only by `write`, and printed in full. */
export function slowDisk(world: World, { words }: Command): void {
  for (const word of words) world.slowDisks.add(nodeId(Number(word)))
}

/** `fast-disk 1`: finishes its waiting writes, and later ones at once. */
export function fastDisk(world: World, { words }: Command): void {
  for (const word of words) {
    world.slowDisks.delete(nodeId(Number(word)))
    const member = world.member(word)
    while (member.pendingWrites.length > 0) world.finishWrite(member)
  }
}

/**
 * `write 1`, `write 1 2`: processes its output, finishes its oldest write, or its two oldest, and
 * processes the output that follows.
 */
export function write(world: World, { words: [id = '', count = '1'] }: Command): void {
  const member = world.member(id)
  world.work(member)
  for (let at = 0; at < Number(count); at++) {
    const oldest = member.pendingWrites[0]
    world.print(`${id} finished ${oldest === undefined ? 'nothing' : `#${oldest.ticket}`}`)
    if (oldest !== undefined) world.finishWrite(member)
  }
  world.work(member)
}

/** `crash 1 [survive=1]`: loses its unfinished writes except the oldest `survive`, and restarts. */
export function crash(world: World, { words: [id = ''], options }: Command): void {
  const member = world.member(id)
  member.crash(Number(options.get('survive') ?? 0))
  world.network = world.network.filter((message) => message.from !== member.id && message.to !== member.id)
}

/** `compact 1 index=12`: compacts its log up to that index. */
export function compact(world: World, { words, options }: Command): void {
  for (const id of words) {
    const member = world.member(id)
    member.flush()
    member.compact(logIndex(Number(options.get('index') ?? 0)))
  }
}
