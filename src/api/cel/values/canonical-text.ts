import { Buffer } from 'node:buffer'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { keyText } from './key-text.ts'
import type { CelValue } from './value.ts'
import { CelDuration, CelFailure, CelList, CelMap, CelTimestamp } from './value.ts'

/**
 * Returns a text that equal values have in common, to identify elements of sets. No text is a
 * prefix of the text of another value, so that texts of several values can be joined.
 */
export function canonicalText(value: CelValue, evaluation: Evaluation): string {
  const parts: string[] = []
  append(parts, value, evaluation)
  return parts.join('')
}

/** The text of a value that cannot be read. */
export const UNREADABLE = '!'

/**
 * Appends the text of a value, in linear time at any depth. Texts are preceded by their length,
 * lists and maps by their size.
 */
function append(parts: string[], value: CelValue | CelFailure, evaluation: Evaluation): void {
  if (value instanceof CelFailure) {
    parts.push(UNREADABLE)
  } else if (value instanceof CelList) {
    evaluation.step(PART_STEPS)
    parts.push(`l${value.size}:`)
    for (let at = 0; at < value.size; at++) append(parts, value.at(at), evaluation)
  } else if (value instanceof CelMap) {
    appendMap(parts, value, evaluation)
  } else parts.push(countedScalar(value, evaluation))
}

/** The entries in the order of the texts of their keys. */
function appendMap(parts: string[], map: CelMap, evaluation: Evaluation): void {
  const sortSteps = Math.log2(map.size + 1)
  evaluation.step(PART_STEPS)
  const keys = new Map<string, CelValue>()
  for (const key of map.keys()) {
    evaluation.step(sortSteps)
    keys.set(countedScalar(key, evaluation), key)
  }
  parts.push(`m${keys.size}:`)
  for (const text of [...keys.keys()].sort()) {
    parts.push(text)
    append(parts, map.get(keys.get(text) ?? null) ?? null, evaluation)
  }
}

function countedScalar(value: CelValue, evaluation: Evaluation): string {
  const text = scalarText(value, evaluation) ?? 'other'
  evaluation.step(PART_STEPS + text.length / 16)
  return `s${text.length}:${text}`
}

/** Steps of each part of a value, in addition to those of its text. */
const PART_STEPS = 8

function scalarText(value: CelValue, evaluation: Evaluation): string | undefined {
  if (value === null) return 'null'
  if (value instanceof Uint8Array) return `b${Buffer.from(value.slice().buffer).toString('base64')}`
  if (value instanceof CelDuration) return `duration${value.nanos}`
  if (value instanceof CelTimestamp) return `timestamp${value.nanos}`
  return keyText(value, evaluation)
}
