import { Buffer } from 'node:buffer'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { formatDouble } from '../values/double-text.ts'
import { formatDuration } from '../values/duration.ts'
import { formatTimestamp } from '../values/timestamp.ts'
import { typeOf } from '../values/type-of.ts'
import type { CelValue } from '../values/value.ts'
import {
  CelDuration,
  CelFailure,
  CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
} from '../values/value.ts'
import { formatNumber } from './format-number.ts'
import type { Outcome } from './overload.ts'

/**
 * Formats values by the verbs `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x` and `%X`.
 *
 * @source cel-go `ext/formatting.go`
 */
export function formatText(template: string, args: CelList, evaluation: Evaluation): Outcome {
  const parts: string[] = []
  let used = 0
  let start = 0
  for (;;) {
    const at = template.indexOf('%', start)
    if (at < 0) break
    evaluation.step(8)
    parts.push(template.slice(start, at))
    CLAUSE.lastIndex = at
    const clause = CLAUSE.exec(template)
    if (clause === null) return unreadable(template, at)
    start = CLAUSE.lastIndex
    const [, precision, verb = ''] = clause
    if (verb === '%') {
      parts.push('%')
      continue
    }
    if (used >= args.size) return new CelFailure(`index ${used} out of range`)
    const value = args.at(used++)
    const text = value instanceof CelFailure ? value : formatValue(verb, precision, value, evaluation)
    if (text instanceof CelFailure) return text
    evaluation.allocate(text.length / 4)
    parts.push(text)
  }
  parts.push(template.slice(start))
  return parts.join('')
}

const CLAUSE = /%(?:\.([0-9]{1,4}))?([%sdfebxXo])/y
/** The same maximum as upstream. */
const PRECISION_MAX = 100

function unreadable(template: string, at: number): CelFailure {
  const verb = template[at + 1]
  if (verb === undefined) return new CelFailure('unexpected end of string')
  return new CelFailure(
    `could not parse formatting clause: unrecognized formatting clause ${JSON.stringify(verb)}`,
  )
}

function formatValue(
  verb: string,
  precision: string | undefined,
  value: CelValue,
  evaluation: Evaluation,
): string | CelFailure {
  if (verb === 's') return plainText(value, evaluation)
  const digits = precision === undefined ? 6 : Number(precision)
  if (digits > PRECISION_MAX) return new CelFailure(`precision ${digits} exceeds ${PRECISION_MAX}`)
  evaluation.step(stepsOf(verb, value, evaluation))
  const text = formatNumber(verb, digits, value)
  return text ?? new CelFailure(`error during formatting: %${verb} cannot format ${typeOf(value)}`)
}

/** Returns the steps of formatting a value. For `%f`, every digit of a double is computed first. */
function stepsOf(verb: string, value: CelValue, evaluation: Evaluation): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return evaluation.sizeOf(value) / 8
  return typeof value === 'number' && verb === 'f' ? DOUBLE_STEPS : 0
}

const DOUBLE_STEPS = 1000

/** `%s`: any value without quotes; lists and maps with their parts. */
function plainText(value: CelValue, evaluation: Evaluation): string | CelFailure {
  evaluation.step(8)
  if (typeof value === 'string') return value
  if (value === null) return 'null'
  if (typeof value === 'boolean' || typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return doubleText(value)
  if (value instanceof CelUint) return value.value.toString()
  if (value instanceof Uint8Array) {
    evaluation.allocate(value.length)
    return Buffer.from(value.slice().buffer).toString('utf8')
  }
  if (value instanceof CelTypeValue) return value.name
  if (value instanceof CelDuration) return formatDuration(value)
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  if (value instanceof CelList) return listText(value, evaluation)
  if (value instanceof CelMap) return mapText(value, evaluation)
  return new CelFailure(
    `error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${typeOf(value)}`,
  )
}

function doubleText(value: number): string {
  return Number.isFinite(value) ? formatDouble(value) : String(value)
}

function listText(list: CelList, evaluation: Evaluation): string | CelFailure {
  const parts: string[] = []
  for (let at = 0; at < list.size; at++) {
    const item = list.at(at)
    const text = item instanceof CelFailure ? item : plainText(item, evaluation)
    if (text instanceof CelFailure) return text
    evaluation.allocate(text.length / 4)
    parts.push(text)
  }
  return `[${parts.join(', ')}]`
}

/** The entries in the order of their texts. */
function mapText(map: CelMap, evaluation: Evaluation): string | CelFailure {
  const parts: string[] = []
  for (const key of map.keys()) {
    const value = map.get(key) ?? null
    const keyText = plainText(key, evaluation)
    const text = value instanceof CelFailure ? value : plainText(value, evaluation)
    if (keyText instanceof CelFailure) return keyText
    if (text instanceof CelFailure) return text
    evaluation.allocate((keyText.length + text.length) / 4)
    parts.push(`${keyText}: ${text}`)
  }
  return `{${parts.sort().join(', ')}}`
}
