import { verifyLimits } from './limits.ts'
import { linearizable } from './linearizability.ts'
import type { Expectation, RegisterCall } from './linearizability.ts'

/**
 * Returns a set of calls, if possible a smaller one, without a valid order. Only calls whose
 * removal cannot invalidate a valid history are removed: the end of the recording, reads, and
 * writes on which no remaining read depends.
 *
 * @param calls without a valid order
 */
export function minimizeCalls<C extends RegisterCall>(calls: readonly C[]): readonly C[] {
  return new CallMinimizer<C>().run([...calls].sort((a, b) => a.begin - b.begin))
}

class CallMinimizer<C extends RegisterCall> {
  #trials = 0

  run(calls: readonly C[]): readonly C[] {
    let left = this.#shortest(calls)
    for (let before = Infinity; left.length < before && !this.#isSpent;) {
      before = left.length
      left = this.#without(left, 'reads')
      left = this.#without(left, 'writes')
    }
    return left
  }

  get #isSpent(): boolean {
    return this.#trials >= verifyLimits.shrinkTrialsMax
  }

  /**
   * Returns the history up to the earliest time at which it has no valid order. Calls that were in
   * progress at that time count as unfinished.
   */
  #shortest(calls: readonly C[]): readonly C[] {
    const ends = [...new Set(calls.map(({ end }) => end).filter((end) => end !== Infinity))].sort(
      (a, b) => a - b,
    )
    let [low, high] = [0, ends.length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#isBad(upTo(calls, ends[middle] ?? Infinity))) high = middle
      else low = middle + 1
    }
    const shortest = upTo(calls, ends[low] ?? Infinity)
    return this.#isBad(shortest) ? shortest : calls
  }

  /** Removes ever smaller groups of calls of this kind. */
  #without(calls: readonly C[], what: 'reads' | 'writes'): readonly C[] {
    let left = calls
    for (let size = Math.ceil(left.length / 2); size >= 1 && !this.#isSpent; size = size >> 1) {
      for (let from = left.length - size; from > -size && !this.#isSpent; from -= size) {
        const piece = left
          .slice(Math.max(0, from), from + size)
          .filter((call) => (call.effect.kind === 'saw') === (what === 'reads'))
        const rest = piece.length === 0 ? null : withoutCalls(left, piece)
        if (rest !== null && this.#isBad(rest)) left = rest
      }
    }
    return left
  }

  #isBad(calls: readonly C[]): boolean {
    this.#trials++
    return linearizable(calls, verifyLimits.searchStepsMax).kind === 'not-linearizable'
  }
}

/** Returns the history as it was at that time. */
function upTo<C extends RegisterCall>(calls: readonly C[], moment: number): readonly C[] {
  const begun = calls.filter(({ begin }) => begin <= moment)
  return begun
    .filter(({ end, effect }) => end <= moment || effect.kind !== 'saw')
    .map((call): C => {
      const { effect } = call
      if (call.end <= moment || effect.kind !== 'wrote') return call
      return { ...call, end: Infinity, effect: { ...effect, kind: 'may-write' } }
    })
}

/**
 * Returns the calls without `piece`. A write that depends on a removed write is assumed to accept
 * any state: that allows more orders, never fewer. Removing a write on which nothing depends keeps
 * a valid history valid.
 *
 * @returns null when a remaining read depends on a removed write
 */
function withoutCalls<C extends RegisterCall>(calls: readonly C[], piece: readonly C[]): readonly C[] | null {
  const gone = new Set<RegisterCall>(piece)
  const writes = piece.map(({ effect }) => effect).filter((effect) => effect.kind !== 'saw')
  const rest: C[] = []
  for (const call of calls) {
    if (gone.has(call)) continue
    const { effect } = call
    const isFree = !writes.some(({ to }) => dependsOn(effect.kind === 'saw' ? effect.state : effect.from, to))
    if (isFree) rest.push(call)
    else if (effect.kind === 'saw') return null
    else rest.push({ ...call, effect: { ...effect, from: anyState } })
  }
  return rest
}

function dependsOn(expected: Expectation, to: string | null): boolean {
  switch (expected.kind) {
    case 'any':
      return false
    case 'is':
      return expected.state === to
    case 'present':
    case 'other':
      return to !== null
  }
}

const anyState: Expectation = { kind: 'any' }
