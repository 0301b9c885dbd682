import type { LivenessReport } from './liveness.ts'

const kinds = [
  ...(['settledMs', 'startedMs', 'electedMs', 'agreedMs', 'repairedMs', 'servedMs'] as const),
  ...(['convergedMs', 'watchedMs'] as const),
] as const
type Kind = (typeof kinds)[number]

const words: Readonly<Record<Kind, string>> = {
  settledMs: 'L4 members settled',
  startedMs: 'L3 up after the faults',
  electedMs: 'L1 leader elected',
  agreedMs: 'L5 only one state served',
  repairedMs: 'L5 repaired by an operator',
  servedMs: 'L2 writes and reads served',
  convergedMs: 'L3, L4 equal and ready',
  watchedMs: 'L6 watches complete',
}

/** How long healthy members took to satisfy the claims, over many runs, in virtual ms. */
export class LivenessTimes {
  readonly #times: Record<Kind, number[]> = {
    settledMs: [],
    startedMs: [],
    electedMs: [],
    agreedMs: [],
    repairedMs: [],
    servedMs: [],
    convergedMs: [],
    watchedMs: [],
  }

  /** @param report null: the run could not satisfy the claims */
  add(report: LivenessReport | null): void {
    if (report === null) return
    for (const kind of kinds) this.#times[kind].push(report[kind])
  }

  /**
   * @param share 0 to 1
   * @returns the time that this share of the runs did not exceed; 0 without runs
   */
  within(kind: Kind, share: number): number {
    const sorted = this.#times[kind].toSorted((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  }

  table(): string {
    const rows = kinds.map((kind) => {
      const [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1].map((share) => this.within(kind, share))
      return `${words[kind].padEnd(28)}  p50 ${p50}  p90 ${p90}  p99 ${p99}  max ${max}`
    })
    return ['virtual ms from the end of the phase before:', ...rows].join('\n')
  }
}
