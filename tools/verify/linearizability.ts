/** What one object is: the token of its latest write; null: absent. */
export type State = string | null

/** One call on one object, as its client saw it. */
export type RegisterCall = {
  readonly begin: number
  /** Infinite when its end was never heard: then it may take effect at any later time, or never. */
  readonly end: number
  readonly effect: Effect
  /** For reports. */
  readonly label: string
}

export type Effect =
  /** It found the object in such a state. */
  | { readonly kind: 'saw'; readonly state: Expectation }
  /** It found the object in such a state and left it with this one. */
  | { readonly kind: 'wrote'; readonly from: Expectation; readonly to: State }
  /** It may have done so, once, between its begin and its end, or not at all. */
  | { readonly kind: 'may-write'; readonly from: Expectation; readonly to: State }

export type Expectation =
  | { readonly kind: 'any' }
  | { readonly kind: 'present' }
  | { readonly kind: 'is'; readonly state: State }
  /** Present, and not this version. */
  | { readonly kind: 'other'; readonly than: string }

export type Verdict =
  | { readonly kind: 'linearizable' }
  /** The longest explained beginning, and what could not come next. */
  | { readonly kind: 'not-linearizable'; readonly stuck: readonly RegisterCall[]; readonly state: State }
  /** The search was longer than allowed. */
  | { readonly kind: 'undecided' }

/**
 * Whether one order of the calls explains all answers and contradicts no real time: a search over orders that goes
 * back where it gets stuck, and never tries the same set of calls with the same state twice.
 *
 * @param stepsMax the search ends undecided after so many steps
 * @source Wing and Gong, "Testing and verifying concurrent objects", 1993; Lowe, "Testing for linearizability", 2017
 */
export function linearizable(calls: readonly RegisterCall[], stepsMax: number): Verdict {
  for (const fewer of reducedCalls(calls)) {
    if (new Search(fewer, stepsMax).run().kind === 'linearizable') return { kind: 'linearizable' }
  }
  return new Search(calls, stepsMax).run()
}

/**
 * A write without an answer may be left out: then it never took effect. Each that stays may come anywhere behind its
 * begin, so a history with many takes long; and one in which nobody was shown a write is mostly explained without it.
 *
 * @returns fewer calls, the fewest first; whoever finds an order of them has found one of all
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
  /** Calls whose answer has to be explained and is not yet. */
  #due: number
  /** All before it are explained. */
  #first = 0
  /** The last that is explained; -1: none. */
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
      // Seen before: whatever follows was tried from there.
      if (!this.#isNew(state)) continue
      path.push({ choices: this.#choices(state), taken: null })
    }
    return { kind: 'linearizable' }
  }

  /** The best last. */
  #choices(state: State): Choice[] {
    // Nothing that had ended may come behind a call that began later.
    const begun = this.#calls[this.#last]?.begin ?? -Infinity
    // And nothing may come before a call that had ended before it began.
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
      // A read that fits changes nothing, and here it shuts nothing out: no other order is better than taking it now.
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
    // Of what lies between, little is missing, so that is what a set of calls is known by.
    let key = `${this.#last}:`
    for (let at = this.#first; at < this.#last; at++) if (!this.#done[at]) key += `${at},`
    key += `:${state ?? ''}`
    if (this.#tried.has(key)) return false
    this.#tried.add(key)
    return true
  }
}

/** Its answer has to be explained. */
function isDue(call: RegisterCall): boolean {
  return call.effect.kind !== 'may-write'
}

/** What ended first is tried first; what need not have happened last. */
function rankOf(call: RegisterCall): number {
  return call.effect.kind === 'wrote' ? call.end : Number.MAX_VALUE
}

/** @returns undefined when it cannot come in this state */
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
