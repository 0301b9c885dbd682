/** State of one object: the token of its latest write; null: absent. */
export type State = string | null

/** One call on one object, as its client observed it. */
export type RegisterCall = {
  readonly begin: number
  /** Infinity if the outcome is unknown: the call may take effect at any later time, or never. */
  readonly end: number
  readonly effect: Effect
  /** For reports. */
  readonly label: string
}

export type Effect =
  /** The call read this state. */
  | { readonly kind: 'saw'; readonly state: Expectation }
  /** The call changed the object from this state to another one. */
  | { readonly kind: 'wrote'; readonly from: Expectation; readonly to: State }
  /** The call may have changed the object, once, between its begin and its end, or not at all. */
  | { readonly kind: 'may-write'; readonly from: Expectation; readonly to: State }

export type Expectation =
  | { readonly kind: 'any' }
  | { readonly kind: 'present' }
  | { readonly kind: 'is'; readonly state: State }
  /** Any version except this one. */
  | { readonly kind: 'other'; readonly than: string }

export type Verdict =
  | { readonly kind: 'linearizable' }
  /** `state`: at the end of the best order that was found. `stuck`: calls that cannot follow it. */
  | { readonly kind: 'not-linearizable'; readonly stuck: readonly RegisterCall[]; readonly state: State }
  /** The search exceeded its limit. */
  | { readonly kind: 'undecided' }

/**
 * Searches for an order of the calls that explains all answers and respects real time. Backtracks,
 * and never visits the same set of calls with the same state twice.
 *
 * @param stepsMax limit of the search, which is then undecided
 * @source Wing and Gong, "Testing and verifying concurrent objects", 1993; Lowe, "Testing for
 * linearizability", 2017
 */
export function linearizable(calls: readonly RegisterCall[], stepsMax: number): Verdict {
  for (const fewer of reducedCalls(calls)) {
    if (new Search(fewer, stepsMax).run().kind === 'linearizable') return { kind: 'linearizable' }
  }
  return new Search(calls, stepsMax).run()
}

/**
 * A write with unknown outcome may be left out: then it never took effect. If it stays, it may be
 * placed anywhere after its begin, so a history with many of them takes long. A history usually has
 * an order without the unknown writes that no read returned.
 *
 * @returns subsets of the calls, smallest first; an order of a subset is an order of all calls
 */
function reducedCalls(calls: readonly RegisterCall[]): readonly (readonly RegisterCall[])[] {
  const shown = new Set<State>()
  for (const { effect } of calls) {
    const expected = effect.kind === 'saw' ? effect.state : effect.from
    if (expected.kind === 'is') shown.add(expected.state)
  }
  const seen = calls.filter(({ effect }) => effect.kind !== 'may-write' || shown.has(effect.to))
  const alive = seen.filter(({ effect }) => effect.kind !== 'may-write' || effect.to !== null)
  return [alive, seen].filter((fewer) => fewer.length < calls.length)
}

/** A call that may come next at some point of the search. */
type Choice = { readonly at: number; readonly state: State }

class Search {
  readonly #calls: readonly RegisterCall[]
  readonly #stepsMax: number
  readonly #done: boolean[]
  /** Number of calls whose answer must be explained and is not explained yet. */
  #due: number
  /** All calls before this index are placed. */
  #first = 0
  /** Index of the last placed call; -1: none. */
  #last = -1
  readonly #tried = new Set<string>()
  #steps = 0
  #best: { readonly due: number; readonly stuck: readonly RegisterCall[]; readonly state: State }

  constructor(calls: readonly RegisterCall[], stepsMax: number) {
    this.#calls = [...calls].sort((a, b) => a.begin - b.begin)
    this.#stepsMax = stepsMax
    this.#done = this.#calls.map(() => false)
    this.#due = this.#calls.filter(isDue).length
    this.#best = { due: Infinity, stuck: [], state: null }
  }

  run(): Verdict {
    const path: { readonly choices: Choice[]; taken: Choice | null }[] = []
    let state: State = null
    path.push({ choices: this.#choices(state), taken: null })
    while (this.#due > 0) {
      if (++this.#steps > this.#stepsMax) return { kind: 'undecided' }
      const level = path[path.length - 1]
      if (level === undefined) {
        return { kind: 'not-linearizable', stuck: this.#best.stuck, state: this.#best.state }
      }
      if (level.taken !== null) this.#undo(level.taken)
      level.taken = level.choices.pop() ?? null
      if (level.taken === null) {
        path.pop()
        continue
      }
      this.#do(level.taken)
      state = level.taken.state
      // Visited before: everything that follows was tried from there.
      if (!this.#isNew(state)) continue
      path.push({ choices: this.#choices(state), taken: null })
    }
    return { kind: 'linearizable' }
  }

  /** Returns the possible next calls, the best one last. */
  #choices(state: State): Choice[] {
    // A call that ended before a placed call began can no longer be placed.
    const begun = this.#calls[this.#last]?.begin ?? -Infinity
    // While an unplaced call is due, a call that began after its end cannot be placed.
    let endMin = Infinity
    let openEndMin = Infinity
    for (let at = this.#first; at < this.#calls.length; at++) {
      const call = this.#calls[at] as RegisterCall
      if (call.begin > endMin) break
      if (this.#done[at]) continue
      if (isDue(call)) endMin = Math.min(endMin, call.end)
      else if (call.end >= begun) openEndMin = Math.min(openEndMin, call.end)
    }
    const found: { readonly choice: Choice; readonly rank: number }[] = []
    const stuck: RegisterCall[] = []
    for (let at = this.#first; at < this.#calls.length; at++) {
      const call = this.#calls[at] as RegisterCall
      if (call.begin > endMin) break
      if (this.#done[at] || call.end < begun) continue
      const next = after(call.effect, state)
      if (next === undefined) stuck.push(call)
      // A matching read does not change the state. It is placed at once, without alternatives,
      // unless an unplaced write of unknown outcome had ended before the read began.
      else if (call.effect.kind === 'saw' && call.begin <= openEndMin) return [{ at, state }]
      else found.push({ choice: { at, state: next }, rank: rankOf(call) })
    }
    if (this.#due < this.#best.due) this.#best = { due: this.#due, stuck, state }
    return found.sort((a, b) => b.rank - a.rank).map(({ choice }) => choice)
  }

  #do(choice: Choice): void {
    this.#done[choice.at] = true
    if (isDue(this.#calls[choice.at] as RegisterCall)) this.#due--
    while (this.#done[this.#first]) this.#first++
    this.#last = Math.max(this.#last, choice.at)
  }

  #undo(choice: Choice): void {
    this.#done[choice.at] = false
    if (isDue(this.#calls[choice.at] as RegisterCall)) this.#due++
    this.#first = Math.min(this.#first, choice.at)
    while (this.#last >= 0 && !this.#done[this.#last]) this.#last--
  }

  #isNew(state: State): boolean {
    // The set of placed calls is identified by the last one and the few calls missing before it.
    let key = `${this.#last}:`
    for (let at = this.#first; at < this.#last; at++) if (!this.#done[at]) key += `${at},`
    key += `:${state ?? ''}`
    if (this.#tried.has(key)) return false
    this.#tried.add(key)
    return true
  }
}

/** Whether the answer of the call must be explained. */
function isDue(call: RegisterCall): boolean {
  return call.effect.kind !== 'may-write'
}

/** Writes that ended first are tried first; reads and possible writes are tried last. */
function rankOf(call: RegisterCall): number {
  return call.effect.kind === 'wrote' ? call.end : Number.MAX_VALUE
}

/** @returns undefined when the call is impossible in this state */
function after(effect: Effect, state: State): State | undefined {
  switch (effect.kind) {
    case 'saw':
      return holds(effect.state, state) ? state : undefined
    case 'wrote':
    case 'may-write':
      return holds(effect.from, state) ? effect.to : undefined
  }
}

function holds(expected: Expectation, state: State): boolean {
  switch (expected.kind) {
    case 'any':
      return true
    case 'present':
      return state !== null
    case 'is':
      return state === expected.state
    case 'other':
      return state !== null && state !== expected.than
  }
}
