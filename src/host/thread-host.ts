import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { RealClock } from './clock.ts'
import { RealRandom } from './random.ts'

/** What the threads of the consensus library load by this file's address: the machine's time and entropy. */
export const threadHost: { readonly clock: Clock; readonly random: Random } = {
  clock: new RealClock(),
  random: new RealRandom(),
}
