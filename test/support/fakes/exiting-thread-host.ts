import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'

/* A module for the threads of a member, which end without an error as soon as they load it. */

export const threadHost = { clock: new RealClock(), random: new RealRandom() }
process.exit(3)
