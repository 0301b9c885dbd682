import { availableParallelism } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import type { Sample } from './measures.ts'
import { cpuMsOf, residentMiBOf } from './process-usage.ts'

/** Measures the CPU time of servers and generator from its creation on. */
export class Cost {
  readonly #clock: Clock
  readonly #pids: readonly number[]
  readonly #startedMs: number
  readonly #servers: ReadonlyMap<number, number>
  readonly #generator = process.cpuUsage()

  /** @param pids of servers on this machine */
  constructor(clock: Clock, pids: readonly number[]) {
    this.#clock = clock
    this.#pids = pids
    this.#startedMs = clock.monotonicMs()
    this.#servers = new Map(pids.map((pid) => [pid, cpuMsOf(pid) ?? 0]))
  }

  get elapsedMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs
  }

  /** @param operations by which the CPU time is divided */
  sample(operations: number): Sample {
    const elapsedMs = this.elapsedMs
    const { user, system } = process.cpuUsage(this.#generator)
    const generatorMs = (user + system) / 1000
    const spent = this.#pids.map((pid) => {
      const nowMs = cpuMsOf(pid)
      return nowMs === null ? null : nowMs - (this.#servers.get(pid) ?? 0)
    })
    const servers = spent.filter((ms) => ms !== null)
    const memory = this.#pids.map(residentMiBOf).filter((mib) => mib !== null)
    // Unknown for servers elsewhere, and after a server has ended.
    const isKnown = servers.length > 0 && servers.length === spent.length && operations > 0
    const serverMs = servers.reduce((sum, ms) => sum + ms, 0)
    return {
      ...(isKnown ? { serverCpuMs: serverMs / operations } : {}),
      ...(operations > 0 ? { generatorCpuMs: generatorMs / operations } : {}),
      generatorShare: generatorMs / elapsedMs / availableParallelism(),
      ...(memory.length > 0 ? { memoryMiB: Math.max(...memory) } : {}),
    }
  }
}
