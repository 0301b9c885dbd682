import type { Clock } from '../../base/clock.ts'

/** Signals by which a terminal, a shell or a supervisor ends a program. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Interrupt = (typeof signals)[number]

/**
 * Ms within which a second signal counts as the same request: `timeout` signals its child and then
 * the group.
 */
const againMs = 500

/**
 * Reports the first interrupt instead of ending. A second one ends the program, which then leaves
 * resources behind; SIGHUP never counts as a second one.
 *
 * @param end ends this process as the signal would
 * @returns a function that restores the default behavior
 */
export function onInterrupt(
  clock: Clock,
  interrupted: () => void,
  end: (signal: Interrupt) => void = (signal) => process.kill(process.pid, signal),
): () => void {
  let firstMs: number | null = null
  const stop = (): void => {
    for (const signal of signals) process.removeListener(signal, received)
  }
  const received = (signal: Interrupt): void => {
    if (signal === 'SIGHUP') ignoreClosedTerminal()
    if (firstMs === null) {
      firstMs = clock.monotonicMs()
      interrupted()
    } else if (signal !== 'SIGHUP' && clock.monotonicMs() - firstMs >= againMs) {
      stop()
      end(signal)
    }
  }
  for (const signal of signals) process.on(signal, received)
  return stop
}

/** Writing to a closed terminal fails, which must not abort the cleanup. */
function ignoreClosedTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeListener('error', ignored)
    stream.on('error', ignored)
  }
}

function ignored(): void {}
