/** The figures that a run measures, with their unit. */
const figures = {
  idle: { words: 'idle, three members, percent of one core', digits: 2 },
  floor: { words: 'a trivial response (livez), CPU, ms', digits: 3 },
  createOneP50: { words: 'create, 1 client: p50, ms', digits: 2 },
  createOneCpu: { words: 'create, 1 client: CPU, ms', digits: 2 },
  getOneP50: { words: 'get, most recent, 1 client: p50, ms', digits: 2 },
  getOneCpu: { words: 'get, most recent, 1 client: CPU, ms', digits: 2 },
  createRate: { words: 'create, 64 clients, per second', digits: 0 },
  createCpu: { words: 'create, 64 clients: CPU, ms', digits: 3 },
  updateRate: { words: 'update, 32 clients, per second', digits: 0 },
  updateCpu: { words: 'update, 32 clients: CPU, ms', digits: 3 },
  mostRecentRate: { words: 'get, most recent, 64 clients, per second', digits: 0 },
  mostRecentCpu: { words: 'get, most recent, 64 clients: CPU, ms', digits: 3 },
  anyRate: { words: 'get, any, 64 clients, per second', digits: 0 },
  anyCpu: { words: 'get, any, 64 clients: CPU, ms', digits: 3 },
  listMostRecentCpu: { words: 'list of 1,000, most recent: CPU, ms', digits: 2 },
  listAnyCpu: { words: 'list of 1,000, any: CPU, ms', digits: 2 },
  pagesCpu: { words: 'pages of 500: CPU per 1,000 objects, ms', digits: 2 },
  watch100Cpu: { words: '100 watchers, 100 events/s: CPU per event, ms', digits: 3 },
  watch1000Cpu: { words: '1,000 watchers, 20 events/s: CPU per event, ms', digits: 3 },
  watch1000P99: { words: '1,000 watchers, 20 events/s: p99, ms', digits: 1 },
  memoryIdle: { words: 'memory of the objects / their wire size: idle', digits: 2 },
  memoryLoaded: { words: 'memory of the objects / their wire size: after writes', digits: 2 },
  kill: { words: 'leader killed until writes succeed, s', digits: 2 },
  pause: { words: 'leader paused until writes succeed, s', digits: 2 },
  stop: { words: 'leader stopped until writes succeed, s', digits: 2 },
  startInMemory: { words: 'start in memory, s', digits: 2 },
  startDurable: { words: 'start of one durable member, s', digits: 2 },
  startThree: { words: 'start of three members, s', digits: 2 },
} as const

export type Figure = keyof typeof figures

/**
 * The reference and the goal of each figure. The reference was measured side by side with this
 * server on one machine, for which the goals were set.
 */
const aims: Partial<Record<Figure, { readonly reference: number | null; readonly goal: number }>> = {
  idle: { reference: 4.75, goal: 2.5 },
  createOneP50: { reference: 2.45, goal: 1.5 },
  createOneCpu: { reference: 3.36, goal: 1.5 },
  getOneP50: { reference: 1.32, goal: 0.6 },
  getOneCpu: { reference: 1.69, goal: 0.5 },
  createRate: { reference: 1328, goal: 4500 },
  createCpu: { reference: 1.33, goal: 0.33 },
  updateRate: { reference: 958, goal: 4000 },
  updateCpu: { reference: 1.87, goal: 0.37 },
  mostRecentRate: { reference: 3667, goal: 10_548 },
  mostRecentCpu: { reference: 0.47, goal: 0.095 },
  anyRate: { reference: 7657, goal: 9665 },
  anyCpu: { reference: 0.192, goal: 0.08 },
  listMostRecentCpu: { reference: 25.9, goal: 1.7 },
  listAnyCpu: { reference: 20.5, goal: 1.5 },
  pagesCpu: { reference: 25.9, goal: 1.7 },
  watch100Cpu: { reference: 0.059, goal: 0.028 },
  watch1000Cpu: { reference: 0.036, goal: 0.017 },
  watch1000P99: { reference: null, goal: 25 },
  memoryIdle: { reference: 26, goal: 1.5 },
  memoryLoaded: { reference: 26, goal: 4 },
  kill: { reference: 1.5, goal: 0.15 },
  pause: { reference: null, goal: 0.5 },
  stop: { reference: null, goal: 0.05 },
  startInMemory: { reference: null, goal: 0.25 },
  startDurable: { reference: null, goal: 0.4 },
  startThree: { reference: 5, goal: 1.2 },
}

const higherIsBetter: ReadonlySet<Figure> = new Set(['createRate', 'updateRate', 'mostRecentRate', 'anyRate'])

/** Collects the rounds of each figure, and writes them as a table with reference and goal. */
export class GoalTable {
  readonly #rounds = new Map<Figure, number[]>()

  add(figure: Figure, value: number): void {
    this.#rounds.set(figure, [...(this.#rounds.get(figure) ?? []), value])
  }

  /** Returns the lines of a Markdown table with the figures that were measured. */
  lines(): readonly string[] {
    const rows = (Object.keys(figures) as Figure[]).flatMap((figure) => {
      const rounds = this.#rounds.get(figure)
      return rounds === undefined ? [] : [rowOf(figure, rounds)]
    })
    return ['| work | reference | now | goal | met |', '| --- | --- | --- | --- | --- |', ...rows]
  }
}

function rowOf(figure: Figure, rounds: readonly number[]): string {
  const { words, digits } = figures[figure]
  const sorted = rounds.toSorted((a, b) => a - b)
  const [median = NaN, lowest = NaN, highest = NaN] = [
    sorted[Math.floor((sorted.length - 1) / 2)],
    sorted[0],
    sorted.at(-1),
  ]
  const now = `${median.toFixed(digits)} (${lowest.toFixed(digits)}-${highest.toFixed(digits)})`
  const aim = aims[figure]
  if (aim === undefined) return `| ${words} | | ${now} | | |`
  const isMet = higherIsBetter.has(figure) ? median >= aim.goal : median <= aim.goal
  return `| ${words} | ${aim.reference ?? ''} | ${now} | ${aim.goal} | ${isMet ? 'yes' : 'no'} |`
}
