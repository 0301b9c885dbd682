import { randomBytes } from 'node:crypto'
import type { Clock, Timer } from '../../raft/base/clock.ts'
import { SeededRandom } from '../../raft/base/random.ts'

/** The machine's time, for tests that meet real sockets. Its timers do not keep a finished test alive. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (delayMs, action): Timer => {
    const timer = setTimeout(action, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
  every: (periodMs, action): Timer => {
    const timer = setInterval(action, periodMs)
    timer.unref()
    return { cancel: () => clearInterval(timer) }
  },
  soon: (action) => {
    setImmediate(action)
  },
}

/** Different in every run, where a test must not depend on what is drawn. */
export function freshRandom(): SeededRandom {
  return new SeededRandom(randomBytes(4).readUInt32LE())
}
