import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { RealClock } from './clock.ts'
import { RealRandom } from './random.ts'

/**
 * Loaded by the threads of the consensus library by the URL of this file: the machine's clock and
 * entropy.
 */
export const threadHost: { readonly clock: Clock; readonly random: Random } = {
  clock: new RealClock(),
  random: new RealRandom(),
}
