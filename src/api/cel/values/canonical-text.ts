import { Buffer } from 'node:buffer'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { keyText } from './key-text.ts'
import type { CelValue } from './value.ts'
import { CelDuration, CelFailure, CelList, CelMap, CelTimestamp } from './value.ts'

/** Returns a text that equal values have in common, to identify elements of sets. */
export function canonicalText(value: CelValue, evaluation: Evaluation): string {
  const text = scalarText(value, evaluation)
  if (text !== undefined) {
    evaluation.step(8 + text.length / 16)
    return text
  }
  if (value instanceof CelList) {
    const parts: string[] = []
    for (let at = 0; at < value.size; at++) parts.push(partText(value.at(at), evaluation))
    return `[${parts.join(',')}]`
  }
  if (!(value instanceof CelMap)) return 'other'
  const entries: string[] = []
  for (const key of value.keys())
    entries.push(`${partText(key, evaluation)}:${partText(value.get(key) ?? null, evaluation)}`)
  return `{${entries.sort().join(',')}}`
}

function partText(value: CelValue | CelFailure, evaluation: Evaluation): string {
  return value instanceof CelFailure ? '!' : JSON.stringify(canonicalText(value, evaluation))
}

function scalarText(value: CelValue, evaluation: Evaluation): string | undefined {
  if (value === null) return 'null'
  if (value instanceof Uint8Array) return `b${Buffer.from(value.slice().buffer).toString('base64')}`
  if (value instanceof CelDuration) return `duration${value.nanos}`
  if (value instanceof CelTimestamp) return `timestamp${value.nanos}`
  return keyText(value, evaluation)
}
