/*
 * The simulator's ports for suites that run in real time: virtual time advances while a port is in
 * use.
 */
import type { Channel } from '../../raft/ports.ts'
import { nodeId } from '../../raft/index.ts'
import { simChannel } from '../simulation/channel.ts'
import type { ChannelDelays } from '../simulation/channel.ts'
import { Network } from '../simulation/network.ts'
import { World } from '../simulation/world.ts'
import type { Owner } from '../simulation/world.ts'
import { memberInfo } from '../../fixtures/peer-credentials.ts'
import type { Parcel } from './channel.ts'
import type { TransportHarness } from './transport-members.ts'

/** Virtual ms for each turn of the event loop, so that a test that polls sees progress. */
const stepMs = 1

export function simulatedChannel(
  delays: ChannelDelays,
): readonly [Channel<Parcel, Parcel>, Channel<Parcel, Parcel>] {
  const world = new World({ seed: 5, trace: null })
  const { a, b } = simChannel<Parcel, Parcel>({
    ...{ world, delays, label: 'pipe', ownerA: ownerOf('a'), ownerB: ownerOf('b') },
  })
  let open = 2
  keepGoing(world, () => open > 0)
  const counted = (end: Channel<Parcel, Parcel>): Channel<Parcel, Parcel> => ({
    post: (message) => end.post(message),
    flush: () => end.flush(),
    onMessages: (handler) => end.onMessages(handler),
    close: () => {
      open--
      end.close()
    },
  })
  return [counted(a), counted(b)]
}

/** Returns a harness whose links lose nothing. */
export function simulatedHarness(): TransportHarness {
  const world = new World({ seed: 6, trace: null })
  const network = new Network({
    world,
    options: {
      ...{ delayMsMin: 0.1, delayMsMax: 3, tail: 'heavy', lateMsMax: 20 },
      ...{ lossChance: 0, duplicateChance: 0, reorderChance: 0 },
      ...{ streamResetChance: 0, streamCutShortChance: 0 },
    },
    tap: () => undefined,
    met: () => undefined,
  })
  let open = true
  keepGoing(world, () => open)
  return {
    async start({ name, id, cluster = 'test' }, receiver) {
      const self = { id: nodeId(id), name }
      const identity = {
        ...{ ...self, cluster, violated: () => undefined },
        ...{ logRefusedBy: () => undefined, acceptedBy: () => undefined },
      }
      const transport = network.attach(identity, ownerOf(name))
      await transport.start(receiver)
      return { transport, info: memberInfo(self, 'simulated:1') }
    },
    async close() {
      open = false
    },
  }
}

function keepGoing(world: World, wanted: () => boolean): void {
  const turn = (): void => {
    if (!wanted()) return
    void world.runUntil(world.now + stepMs).then(() => setImmediate(turn))
  }
  turn()
}

function ownerOf(name: string): Owner {
  return { name, alive: true, pausedUntil: 0, caught: null, waiting: [] }
}
