import type { Clock } from '../../base/clock.ts'

/** By which a terminal, a shell or a supervisor asks a program to end. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Interrupt = (typeof signals)[number]

/** Ms within which a signal is the same request again: `timeout` tells its child and then its group, a shell its jobs. */
const againMs = 500

/**
 * Tells of the first interrupt, instead of ending. Whoever insists ends the program, and leaves behind what it made;
 * a hang-up never insists.
 *
 * @param end ends this process as the signal would have done
 * @returns gives signals their usual effect back
 */
export function onInterrupt(
  clock: Clock,
  interrupted: () => void,
  end: (signal: Interrupt) => void = (signal) => process.kill(process.pid, signal),
): () => void {
  let firstMs: number | null = null
  const stop = (): void => {
    for (const signal of signals) process.removeListener(signal, heard)
  }
  const heard = (signal: Interrupt): void => {
    if (signal === 'SIGHUP') nobodyReads()
    if (firstMs === null) {
      firstMs = clock.monotonicMs()
      interrupted()
    } else if (signal !== 'SIGHUP' && clock.monotonicMs() - firstMs >= againMs) {
      stop()
      end(signal)
    }
  }
  for (const signal of signals) process.on(signal, heard)
  return stop
}

/** What is written to a terminal that is gone fails, and must not end what is left to do. */
function nobodyReads(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeListener('error', ignored)
    stream.on('error', ignored)
  }
}

function ignored(): void {}
