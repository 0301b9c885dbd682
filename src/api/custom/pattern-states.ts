import type { RE2JS } from 're2js'

export type PatternStates = {
  /** null: many. Then each character may make a new state, of all instructions. */
  readonly count: number | null
  /** Steps that counting them took. */
  readonly steps: number
}

/**
 * Counts the states of a compiled expression. If they are few, matching takes the same short time
 * for every character, once the states are made.
 *
 * Follows every character class from every set of instructions that a text can lead to, as the
 * matcher does, up to a limit on sets and on work. Reads the program inside of the library: if it
 * looks different from what is expected, the answer is `many`.
 */
export function statesOf(compiled: RE2JS): PatternStates {
  // The library matches these without states.
  if (isObject(inside(inside(compiled, 're2Input'), 'onepass'))) return { count: 0, steps: 0 }
  const program = programOf(compiled)
  const characters = program === null ? null : representatives(program)
  return program === null || characters === null ? MANY : new StateWalk(program).count(characters)
}

const MANY: PatternStates = { count: null, steps: 0 }

const STATES_MAX = 200
/** Instructions that are looked at. */
const WORK_MAX = 40_000
const WORK_A_STEP = 8
/** Characters, one for each class that the expression distinguishes. */
const REPRESENTATIVES_MAX = 64

/** The operations of `regexp/syntax` in Go, in its order. */
const OP = { alt: 1, altMatch: 2, capture: 3, emptyWidth: 4, fail: 5, match: 6, nop: 7, rune: 8 } as const
const RUNE_1 = 9
const RUNE_ANY = 10
const RUNE_ANY_NOT_NEWLINE = 11
const BEGINS_TEXT = 4
const FOLDS_CASE = 1

type Instruction = {
  readonly op: number
  readonly out: number
  readonly arg: number
  /** Pairs of first and last characters, or one character. */
  readonly runes: ArrayLike<number>
}
type Program = { readonly start: number; readonly instructions: readonly Instruction[] }

function programOf(compiled: RE2JS): Program | null {
  const program = inside(inside(compiled, 're2Input'), 'prog')
  const [start, instructions] = [inside(program, 'start'), inside(program, 'inst')]
  if (typeof start !== 'number' || !Array.isArray(instructions)) return null
  return instructions.every(isInstruction) ? { start, instructions } : null
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function inside(value: unknown, name: string): unknown {
  return isObject(value) ? Reflect.get(value, name) : undefined
}

function isInstruction(value: unknown): value is Instruction {
  const numbers = ['op', 'out', 'arg'].map((name) => inside(value, name))
  const runes = inside(value, 'runes')
  return numbers.every((one) => typeof one === 'number') && typeof inside(runes, 'length') === 'number'
}

/** @returns null: too many, or classes whose characters are not known here */
function representatives({ instructions }: Program): readonly number[] | null {
  const found = new Set([0, NEWLINE, NEWLINE + 1])
  for (const { op, arg, runes } of instructions) {
    if (op > RUNE_ANY_NOT_NEWLINE) return null
    if (op !== OP.rune && op !== RUNE_1) continue
    const [only = 0] = [runes[0]]
    if (runes.length === 1 && (arg & FOLDS_CASE) !== 0) found.add(otherCase(only)).add(otherCase(only) + 1)
    for (let at = 0; at < runes.length; at += 2) {
      const low = runes[at] ?? 0
      found.add(low).add((runes[at + 1] ?? low) + 1)
      if (found.size > REPRESENTATIVES_MAX) return null
    }
  }
  return [...found]
}

const NEWLINE = 10

class StateWalk {
  readonly #program: Program
  #workLeft = WORK_MAX

  constructor(program: Program) {
    this.#program = program
  }

  count(characters: readonly number[]): PatternStates {
    const count = this.#count(characters)
    return { count, steps: Math.ceil((WORK_MAX - this.#workLeft) / WORK_A_STEP) }
  }

  /** @returns null: there are too many */
  #count(characters: readonly number[]): number | null {
    const { start } = this.#program
    const first = this.#closure([start], true)
    const seen = new Set([first.join()])
    const open = [first]
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      for (const character of characters) {
        const next = this.#closure([start, ...this.#after(state, character)], false)
        if (this.#workLeft < 0) return null
        const key = next.join()
        if (seen.has(key)) continue
        if (seen.size >= STATES_MAX) return null
        seen.add(key)
        open.push(next)
      }
    }
    return seen.size
  }

  #after(state: readonly number[], character: number): readonly number[] {
    this.#workLeft -= state.length
    return state.flatMap((at) => {
      const instruction = this.#program.instructions[at]
      return instruction !== undefined && takes(instruction, character) ? [instruction.out] : []
    })
  }

  /**
   * Returns the instructions that take characters and can be reached without one, sorted.
   * Conditions between characters count as met, except for the beginning of the text.
   */
  #closure(from: readonly number[], isBeginning: boolean): readonly number[] {
    const reached = new Set<number>()
    const taking: number[] = []
    const open = [...from]
    for (let at = open.pop(); at !== undefined && this.#workLeft >= 0; at = open.pop()) {
      const instruction = this.#program.instructions[at]
      if (instruction === undefined || reached.has(at)) continue
      reached.add(at)
      this.#workLeft--
      const { op, out, arg } = instruction
      if (op >= OP.rune) taking.push(at)
      else if (op === OP.alt || op === OP.altMatch) open.push(out, arg)
      else if (op === OP.emptyWidth && (arg & BEGINS_TEXT) !== 0 && !isBeginning) continue
      else if (op !== OP.fail && op !== OP.match) open.push(out)
    }
    return taking.sort((a, b) => a - b)
  }
}

function takes({ op, arg, runes }: Instruction, character: number): boolean {
  if (op === RUNE_ANY) return true
  if (op === RUNE_ANY_NOT_NEWLINE) return character !== NEWLINE
  const folds = runes.length === 1 && (arg & FOLDS_CASE) !== 0
  if (folds && runes[0] === otherCase(character)) return true
  for (let at = 0; at < runes.length; at += 2) {
    const low = runes[at] ?? 0
    if (character >= low && character <= (runes[at + 1] ?? low)) return true
  }
  return false
}

/** Other characters with the same folding lead to the same states. */
function otherCase(character: number): number {
  const isLetter = /^[A-Za-z]$/.test(String.fromCharCode(character))
  return isLetter ? character ^ 0x20 : character
}
