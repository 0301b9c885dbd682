import { joinLists, joinTexts } from '../cost/cost-rule.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import type { CelType } from '../types.ts'
import {
  celBytes,
  celDouble,
  celDuration,
  celInt,
  celList,
  celString,
  celTimestamp,
  celUint,
} from '../types.ts'
import { concatLists } from '../values/concat-lists.ts'
import { durationOf } from '../values/duration.ts'
import { timestampOf } from '../values/timestamp.ts'
import { CelFailure, CelUint } from '../values/value.ts'
import type { FunctionEntry, Outcome, Overload } from './overload.ts'
import { call1, call2 } from './overload.ts'
import { aDouble, aDuration, aString, aTimestamp, aUint, anInt, bytes, listOf, typeA } from './params.ts'

const listOfA = listOf(typeA)
const listOfAType: CelType = celList(typeA)

/** `+`, `-`, `*`, `/`, `%` and the unary `-`, with checked overflow. */
export const arithmetic: readonly FunctionEntry[] = [
  [
    '_+_',
    ints((a, b) => a + b),
    uints((a, b) => a + b),
    call2(aDouble, aDouble, celDouble, (a, b) => a + b),
    call2(
      aString,
      aString,
      celString,
      (a, b, evaluation) => {
        evaluation.allocate((a.length + b.length) / 4)
        return a + b
      },
      joinTexts,
    ),
    call2(aDuration, aDuration, celDuration, (a, b) => duration(a.nanos + b.nanos)),
    call2(aTimestamp, aDuration, celTimestamp, (a, b) => timestamp(a.nanos + b.nanos)),
    call2(aDuration, aTimestamp, celTimestamp, (a, b) => timestamp(a.nanos + b.nanos)),
    call2(listOfA, listOfA, listOfAType, concatLists, joinLists),
    call2(bytes, bytes, celBytes, concatBytes, joinTexts),
  ],
  [
    '_-_',
    ints((a, b) => a - b),
    uints((a, b) => a - b),
    call2(aDouble, aDouble, celDouble, (a, b) => a - b),
    call2(aDuration, aDuration, celDuration, (a, b) => duration(a.nanos - b.nanos)),
    call2(aTimestamp, aDuration, celTimestamp, (a, b) => timestamp(a.nanos - b.nanos)),
    call2(aTimestamp, aTimestamp, celDuration, (a, b) => duration(a.nanos - b.nanos)),
  ],
  ['_*_', ints((a, b) => a * b), uints((a, b) => a * b), call2(aDouble, aDouble, celDouble, (a, b) => a * b)],
  [
    '_/_',
    ints((a, b) => (b === 0n ? new CelFailure('division by zero') : a / b)),
    uints((a, b) => (b === 0n ? new CelFailure('division by zero') : a / b)),
    call2(aDouble, aDouble, celDouble, (a, b) => a / b),
  ],
  ['_%_', ints(modulus), uints((a, b) => (b === 0n ? new CelFailure('modulus by zero') : a % b))],
  ['-_', call1(anInt, celInt, (a) => int(-a)), call1(aDouble, celDouble, (a) => -a)],
]

/** Returns an int. @returns a failure beyond 64 bits */
export function int(value: bigint): Outcome {
  return BigInt.asIntN(64, value) === value ? value : new CelFailure('integer overflow')
}

/** Returns an uint. @returns a failure beyond 64 bits */
export function uint(value: bigint): Outcome {
  const isInRange = BigInt.asUintN(64, value) === value
  return isInRange ? new CelUint(value) : new CelFailure('unsigned integer overflow')
}

function ints(apply: (a: bigint, b: bigint) => bigint | CelFailure): Overload {
  return call2(anInt, anInt, celInt, (a, b) => {
    const result = apply(a, b)
    return result instanceof CelFailure ? result : int(result)
  })
}

/** Overflows where the division does. */
function modulus(a: bigint, b: bigint): bigint | CelFailure {
  if (b === 0n) return new CelFailure('modulus by zero')
  return b === -1n && a === -(2n ** 63n) ? new CelFailure('integer overflow') : a % b
}

function uints(apply: (a: bigint, b: bigint) => bigint | CelFailure): Overload {
  return call2(aUint, aUint, celUint, (a, b) => {
    const result = apply(a.value, b.value)
    return result instanceof CelFailure ? result : uint(result)
  })
}

function duration(nanos: bigint): Outcome {
  return durationOf(nanos) ?? new CelFailure('duration overflow')
}

function timestamp(nanos: bigint): Outcome {
  return timestampOf(nanos) ?? new CelFailure('timestamp overflow')
}

function concatBytes(a: Uint8Array, b: Uint8Array, evaluation: Evaluation): Uint8Array {
  evaluation.allocate(a.length + b.length)
  const joined = new Uint8Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
}
