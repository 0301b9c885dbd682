import type { Clock } from '../../raft/base/clock.ts'
import type { Random } from '../../raft/base/random.ts'
import { RealClock } from './clock.ts'
import { RealRandom } from './random.ts'

/** What the threads of the consensus library load by this file's address: the machine's time and entropy. */
export const threadHost: { readonly clock: Clock; readonly random: Random } = {
  clock: new RealClock(),
  random: new RealRandom(),
}
