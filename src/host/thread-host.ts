import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { RealClock } from './clock.ts'
import { RealRandom } from './random.ts'

/**
 * The clock and the entropy of the machine. The threads of the consensus library load this file by
 * its URL.
 */
export const threadHost: { readonly clock: Clock; readonly random: Random } = {
  clock: new RealClock(),
  random: new RealRandom(),
}
