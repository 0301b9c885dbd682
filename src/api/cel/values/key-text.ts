import type { Evaluation } from '../evaluate/evaluation.ts'
import type { CelValue } from './value.ts'
import { CelUint } from './value.ts'

/**
 * Returns a text that equal keys of a map have in common: `1`, `1u` and `1.0` are one key.
 *
 * @returns undefined if the value cannot be a key
 */
export function keyText(key: CelValue, evaluation: Evaluation): string | undefined {
  if (typeof key === 'string') {
    evaluation.step(key.length / KEY_CHARACTERS_AT_ONCE)
    return `s${key}`
  }
  if (typeof key === 'boolean') return key ? 'true' : 'false'
  if (typeof key === 'bigint') return `n${key}`
  if (typeof key === 'number') return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`
  return key instanceof CelUint ? `n${key.value}` : undefined
}

/** Characters of a key that are copied and hashed in one step. */
const KEY_CHARACTERS_AT_ONCE = 64
