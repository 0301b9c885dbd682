import { Buffer, isUtf8 } from 'node:buffer'
import type { CostRule } from '../cost/cost-rule.ts'
import { CHARACTER, nominal, sizeAt, traverse } from '../cost/cost-rule.ts'
import { ONE, scale } from '../cost/range.ts'
import type { CelType } from '../types.ts'
import {
  celBool,
  celBytes,
  celDouble,
  celDuration,
  celDyn,
  celInt,
  celString,
  celTimestamp,
  celTypeType,
  celUint,
} from '../types.ts'
import { formatDouble, parseDouble } from '../values/double-text.ts'
import { durationSteps, formatDuration, parseDuration } from '../values/duration.ts'
import { formatTimestamp, parseTimestamp, splitNanos, timestampOf } from '../values/timestamp.ts'
import { typeOf } from '../values/type-of.ts'
import type { CelValue } from '../values/value.ts'
import { CelFailure, CelTypeValue } from '../values/value.ts'
import { int, uint } from './arithmetic.ts'
import type { FunctionEntry, Outcome, Overload, Param } from './overload.ts'
import { call1, slow } from './overload.ts'
import { aBool, aDouble, aDuration, aString, aTimestamp, aUint, anInt, any, bytes, typeA } from './params.ts'

/** Steps of reading or writing a time or duration, and a double. */
const TIME_STEPS = 40
const DOUBLE_STEPS = 12

const toBytes: CostRule = {
  actual: traverse(0).actual,
  estimate: (args) => {
    const { min, max } = sizeAt(args, 0)
    return { cost: scale({ min, max }, CHARACTER), size: { min, max: max * 4 } }
  },
}

const toText: CostRule = {
  actual: traverse(0).actual,
  estimate: (args) => {
    const { min, max } = sizeAt(args, 0)
    return { cost: scale({ min, max }, CHARACTER), size: { min: Math.floor(min / 4), max } }
  },
}

const sameText: CostRule = {
  ...nominal,
  estimate: (args) => ({ cost: { min: 1, max: 1 }, size: sizeAt(args, 0) }),
}

/**
 * Returns the cost of a conversion to a text of limited length, so that the estimate for messages
 * with scalars is limited. Upstream estimates such texts as unlimited.
 */
function shortText(min: number, max: number): CostRule {
  return { ...nominal, estimate: () => ({ cost: ONE, size: { min, max } }) }
}

/** Conversions between types. */
export const conversions: readonly FunctionEntry[] = [
  [
    'int',
    identity(anInt, celInt),
    call1(aUint, celInt, ({ value }) => int(value)),
    call1(aDouble, celInt, (value) => intFromDouble(value)),
    call1(aString, celInt, (text) =>
      /^[+-]?[0-9]{1,30}$/.test(text) ? int(BigInt(text.replace('+', ''))) : unreadable(text, 'int'),
    ),
    call1(aTimestamp, celInt, ({ nanos }) => BigInt(splitNanos(nanos).seconds)),
    call1(aDuration, celInt, ({ nanos }) => nanos),
  ],
  [
    'uint',
    identity(aUint, celUint),
    call1(anInt, celUint, (value) => uint(value)),
    call1(aDouble, celUint, (value) => uintFromDouble(value)),
    call1(aString, celUint, (text) =>
      /^[0-9]{1,30}$/.test(text) ? uint(BigInt(text)) : unreadable(text, 'uint'),
    ),
  ],
  [
    'double',
    identity(aDouble, celDouble),
    call1(anInt, celDouble, (value) => Number(value)),
    call1(aUint, celDouble, ({ value }) => Number(value)),
    call1(aString, celDouble, (text, evaluation) => {
      evaluation.step(DOUBLE_STEPS + text.length / 4)
      return parseDouble(text) ?? unreadable(text, 'double')
    }),
  ],
  [
    'bool',
    identity(aBool, celBool),
    call1(aString, celBool, (text) => {
      if (TRUE.has(text)) return true
      return FALSE.has(text) ? false : unreadable(text, 'bool')
    }),
  ],
  [
    'string',
    identity(aString, celString, sameText),
    call1(aBool, celString, (value) => String(value), shortText(4, 5)),
    call1(anInt, celString, (value) => value.toString(), shortText(1, 20)),
    call1(aUint, celString, ({ value }) => value.toString(), shortText(1, 20)),
    slow(
      DOUBLE_STEPS,
      call1(aDouble, celString, (value) => formatDouble(value), shortText(1, 24)),
    ),
    call1(
      bytes,
      celString,
      (value) =>
        isUtf8(value)
          ? Buffer.from(value.slice().buffer).toString('utf8')
          : new CelFailure('invalid UTF-8 in bytes, cannot convert to string'),
      toText,
    ),
    slow(
      TIME_STEPS,
      call1(aTimestamp, celString, (value) => formatTimestamp(value), shortText(20, 30)),
    ),
    slow(
      TIME_STEPS,
      call1(aDuration, celString, (value) => formatDuration(value), shortText(2, 24)),
    ),
  ],
  [
    'bytes',
    identity(bytes, celBytes, sameText),
    call1(aString, celBytes, (text) => new Uint8Array(Buffer.from(text, 'utf8')), toBytes),
  ],
  [
    'duration',
    identity(aDuration, celDuration),
    call1(aString, celDuration, (text, evaluation) => {
      evaluation.step(durationSteps(text))
      return parseDuration(text)
    }),
  ],
  [
    'timestamp',
    identity(aTimestamp, celTimestamp),
    slow(
      TIME_STEPS,
      // A date alone is no timestamp, unlike in JSON.
      call1(aString, celTimestamp, (text) =>
        /T/i.test(text.slice(0, 64)) ? parseTimestamp(text) : unreadable(text, 'timestamp'),
      ),
    ),
    call1(
      anInt,
      celTimestamp,
      (seconds) => timestampOf(seconds * 1_000_000_000n) ?? new CelFailure('timestamp overflow'),
    ),
  ],
  ['dyn', call1(any(typeA), celDyn, (value) => value)],
  ['type', call1(any(typeA), celTypeType, (value) => new CelTypeValue(typeOf(value)))],
]

const TRUE: ReadonlySet<string> = new Set(['true', 'True', 'TRUE', 't', '1'])
const FALSE: ReadonlySet<string> = new Set(['false', 'False', 'FALSE', 'f', '0'])

function identity<T extends CelValue>(param: Param<T>, type: CelType, cost = nominal): Overload {
  return call1(param, type, (value) => value, cost)
}

/**
 * Rounds toward zero. The ends of the range are excluded, because integers next to them round to
 * the same double.
 */
function intFromDouble(value: number): Outcome {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) return new CelFailure('integer overflow')
  return int(BigInt(Math.trunc(value)))
}

function uintFromDouble(value: number): Outcome {
  if (!(value >= 0 && value < 2 ** 64)) return new CelFailure('unsigned integer overflow')
  return uint(BigInt(Math.trunc(value)))
}

function unreadable(text: string, type: string): CelFailure {
  const types = `'string' to '${type}'`
  return new CelFailure(`type conversion error from ${types}: ${JSON.stringify(text.slice(0, 64))}`)
}
