import type { Command } from '../command.ts'
import type { World } from '../world.ts'

/** `want-lease 1`: the member tries to hold a lease while it leads. A crash resets this. */
export function wantLease(world: World, { words }: Command): void {
  for (const word of words) world.member(word).raft.wantLease(true)
}

/** `clock 1 1050`: sets the clock of the member, in ms. It begins at 0. */
export function clock(world: World, { words: [id = '', ms = '0'] }: Command): void {
  const member = world.member(id)
  member.clockMs = Number(ms)
  member.raft.setTime(member.clockMs)
}

/** `lease 1`: prints the end of its lease on its own clock. */
export function lease(world: World, { words }: Command): void {
  for (const id of words) {
    const { raft, clockMs } = world.member(id)
    const until = raft.leaseUntilMs
    if (until === 0) world.print(`${id} has no lease`)
    else world.print(`${id} at ${clockMs}ms: lease until ${until}ms${clockMs < until ? '' : ', over'}`)
  }
}
