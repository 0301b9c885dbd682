import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'

/* A module for the threads of a member: a thread that loads it ends at once with exit code 3. */

export const threadHost = { clock: new RealClock(), random: new RealRandom() }
process.exit(3)
