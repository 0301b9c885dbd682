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

type Aim = {
  readonly reference: number | null
  /** This server at commit 52ececc. */
  readonly before: number | null
  readonly goal: number
}

/**
 * The reference and this server at commit 52ececc were measured side by side on one machine, for
 * which the goals were set.
 */
const aims: Partial<Record<Figure, Aim>> = {
  idle: { reference: 4.75, before: 11.3, goal: 2.5 },
  createOneP50: { reference: 2.45, before: 2.99, goal: 1.5 },
  createOneCpu: { reference: 3.36, before: 4.73, goal: 1.5 },
  getOneP50: { reference: 1.32, before: 0.91, goal: 0.6 },
  getOneCpu: { reference: 1.69, before: 1.09, goal: 0.5 },
  createRate: { reference: 1328, before: 2597, goal: 4500 },
  createCpu: { reference: 1.33, before: 0.57, goal: 0.33 },
  updateRate: { reference: 958, before: 2319, goal: 4000 },
  updateCpu: { reference: 1.87, before: 0.63, goal: 0.37 },
  mostRecentRate: { reference: 3667, before: 10_548, goal: 10_548 },
  mostRecentCpu: { reference: 0.47, before: 0.107, goal: 0.095 },
  anyRate: { reference: 7657, before: 9665, goal: 9665 },
  anyCpu: { reference: 0.192, before: 0.096, goal: 0.08 },
  listMostRecentCpu: { reference: 25.9, before: 3.4, goal: 1.7 },
  listAnyCpu: { reference: 20.5, before: 2.4, goal: 1.5 },
  pagesCpu: { reference: 25.9, before: 4.3, goal: 1.7 },
  watch100Cpu: { reference: 0.059, before: 0.069, goal: 0.028 },
  watch1000Cpu: { reference: 0.036, before: 0.033, goal: 0.017 },
  watch1000P99: { reference: null, before: null, goal: 25 },
  memoryIdle: { reference: 26, before: 3.9, goal: 1.5 },
  memoryLoaded: { reference: 26, before: 10.9, goal: 4 },
  kill: { reference: 1.5, before: 0.6, goal: 0.15 },
  pause: { reference: null, before: 0.56, goal: 0.5 },
  stop: { reference: null, before: 0.09, goal: 0.05 },
  startInMemory: { reference: null, before: 0.38, goal: 0.25 },
  startDurable: { reference: null, before: 0.51, goal: 0.4 },
  startThree: { reference: 5, before: 1.6, goal: 1.2 },
}

const higherIsBetter: ReadonlySet<Figure> = new Set(['createRate', 'updateRate', 'mostRecentRate', 'anyRate'])

/** `now`: this commit. `before`: the commit that it is compared with. */
export type Side = 'now' | 'before'

/** Collects the rounds of each figure, and writes them as a table with reference and goal. */
export class GoalTable {
  readonly #rounds: Readonly<Record<Side, Map<Figure, number[]>>> = { now: new Map(), before: new Map() }

  add(figure: Figure, value: number, side: Side = 'now'): void {
    const rounds = this.#rounds[side]
    rounds.set(figure, [...(rounds.get(figure) ?? []), value])
  }

  /**
   * Returns the lines of a Markdown table with the figures that were measured. If another commit
   * was measured too, the table also has two ratios: of the goal to commit 52ececc on the machine
   * of the goals, and of this commit to the other one. They are comparable only if the other commit
   * is 52ececc.
   */
  lines(): readonly string[] {
    const { now, before } = this.#rounds
    const measured = (Object.keys(figures) as Figure[]).flatMap((figure) => {
      const rounds = now.get(figure)
      return rounds === undefined ? [] : [{ figure, rounds }]
    })
    if (before.size === 0) {
      const rows = measured.map(({ figure, rounds }) => rowOf(figure, rounds))
      return ['| work | reference | now | goal | met |', '| --- | --- | --- | --- | --- |', ...rows]
    }
    const rows = measured.map(({ figure, rounds }) => comparedRow(figure, rounds, before.get(figure) ?? []))
    const head = '| work | reference | goal | before, here | now, here | goal, ratio | now, ratio | met |'
    return [head, '| --- | --- | --- | --- | --- | --- | --- | --- |', ...rows]
  }
}

function rowOf(figure: Figure, rounds: readonly number[]): string {
  const { words } = figures[figure]
  const aim = aims[figure]
  if (aim === undefined) return `| ${words} | | ${spreadOf(figure, rounds)} | | |`
  const met = isMet(figure, medianOf(rounds), aim.goal)
  return `| ${words} | ${aim.reference ?? ''} | ${spreadOf(figure, rounds)} | ${aim.goal} | ${met} |`
}

function comparedRow(figure: Figure, now: readonly number[], before: readonly number[]): string {
  const aim = aims[figure] ?? { reference: null, before: null, goal: NaN }
  const here = before.length === 0 ? '' : spreadOf(figure, before)
  const ratio = medianOf(now) / medianOf(before)
  const goalRatio = aim.goal / (aim.before ?? NaN)
  return `| ${[
    ...[figures[figure].words, aim.reference ?? '', Number.isNaN(aim.goal) ? '' : aim.goal],
    ...[here, spreadOf(figure, now), digitsOf(goalRatio), digitsOf(ratio)],
    metCompared(figure, { now: medianOf(now), goal: aim.goal, ratio, goalRatio }),
  ].join(' | ')} |`
}

/**
 * Returns whether the goal is met: by the ratios, or by the figure itself if the other commit was
 * not measured. Empty: there is no goal for it, or none that the ratio could be compared with.
 */
function metCompared(
  figure: Figure,
  of: { readonly now: number; readonly goal: number; readonly ratio: number; readonly goalRatio: number },
): string {
  if (Number.isFinite(of.ratio) && Number.isFinite(of.goalRatio)) return isMet(figure, of.ratio, of.goalRatio)
  return Number.isNaN(of.ratio) && Number.isFinite(of.goal) ? isMet(figure, of.now, of.goal) : ''
}

function digitsOf(ratio: number): string {
  return Number.isFinite(ratio) ? ratio.toFixed(2) : ''
}

function isMet(figure: Figure, value: number, goal: number): 'yes' | 'no' {
  return (higherIsBetter.has(figure) ? value >= goal : value <= goal) ? 'yes' : 'no'
}

/** Returns the median; of an even number of rounds, the lower one of the two in the middle. */
function medianOf(rounds: readonly number[]): number {
  return rounds.toSorted((a, b) => a - b)[Math.floor((rounds.length - 1) / 2)] ?? NaN
}

function spreadOf(figure: Figure, rounds: readonly number[]): string {
  const { digits } = figures[figure]
  const [lowest, highest] = [Math.min(...rounds), Math.max(...rounds)]
  return `${medianOf(rounds).toFixed(digits)} (${lowest.toFixed(digits)}-${highest.toFixed(digits)})`
}
