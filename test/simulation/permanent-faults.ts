import { nodeId } from '../../raft/index.ts'
import type { Network } from './network.ts'
import type { Member } from './member.ts'
import type { World } from './world.ts'

/**
 * A fault, for the rest of the run, of a member that the majority does not need. `well`: no fault;
 * `deaf`: it receives nothing; `mute`: nothing that it sends arrives.
 */
export type PermanentFault = 'well' | 'down' | 'isolated' | 'deaf' | 'mute' | 'slow' | 'flapping'
export const permanentFaults: readonly PermanentFault[] = [
  'well',
  'down',
  'isolated',
  'deaf',
  'mute',
  'slow',
  'flapping',
]

const slowMs = 40
/** Longer than an election: on a link that recovers sooner a leader may stay. */
const flapMs = 900

/**
 * Applies a fault for the rest of the run.
 *
 * @param among `members` are all members, present and former
 */
export function applyPermanentFault(
  member: Member,
  permanentFault: PermanentFault,
  among: { readonly world: World; readonly network: Network; readonly members: readonly Member[] },
): void {
  const { members, network, world } = among
  const id = nodeId(member.id)
  const others = members.filter((other) => other !== member).map((other) => nodeId(other.id))
  const cutBoth = (): (() => void)[] =>
    others.flatMap((other) => [
      network.impose(id, other, { kind: 'cut' }),
      network.impose(other, id, { kind: 'cut' }),
    ])
  if (permanentFault !== 'down') {
    member.healDisks()
    member.start()
  }
  switch (permanentFault) {
    case 'well':
      return
    case 'down':
      member.crash('power')
      return
    case 'isolated':
      cutBoth()
      return
    case 'mute':
      for (const other of others) network.impose(id, other, { kind: 'cut' })
      return
    case 'deaf':
      for (const other of others) network.impose(other, id, { kind: 'cut' })
      return
    case 'slow':
      for (const other of others) network.impose(id, other, { kind: 'slow', extraMs: slowMs })
      return
    case 'flapping': {
      const flap = (): void => {
        const ends = cutBoth()
        world.schedule(flapMs, `m${id} flaps`, null, () => {
          for (const end of ends) end()
        })
        world.schedule(2 * flapMs, `m${id} flaps`, null, flap)
      }
      flap()
    }
  }
}
