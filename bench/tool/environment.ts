import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'

/** The environment of a measurement. */
export type Environment = {
  /** Commit of this program; `unknown` unless it was built from a checkout. */
  readonly commit: string
  readonly node: string
  readonly system: string
  readonly processors: number
  readonly processor: string
  readonly memoryGiB: number
}

export function environmentOf(commit: string): Environment {
  return {
    commit,
    node: process.version,
    system: `${type()} ${release()}`,
    processors: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  }
}

/** Returns the load average of the last minute. */
export function loadNow(): number {
  return loadavg()[0] ?? 0
}
