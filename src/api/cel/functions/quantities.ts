import { traverse } from '../cost/cost-rule.ts'
import { parseQuantity } from '../../schema/quantity.ts'
import type { CelType } from '../types.ts'
import { celBool, celDouble, celInt } from '../types.ts'
import { QuantityValue } from '../values/quantity-value.ts'
import { CelFailure } from '../values/value.ts'
import type { FunctionEntry, Outcome, Overload, Param } from './overload.ts'
import { call1, call2, method, slow } from './overload.ts'
import { aString, anInt } from './params.ts'

const quantityType: CelType = { kind: 'opaque', name: QuantityValue.typeName }
const aQuantity: Param<QuantityValue> = {
  type: quantityType,
  is: (value) => value instanceof QuantityValue,
}
/** Steps of reading a quantity. */
const PARSE_STEPS = 30
const NANO = 10n ** 9n
const INT_MAX = 2n ** 63n - 1n

/**
 * Amounts of resources.
 *
 * @source apiserver `pkg/cel/library/quantity.go`
 */
export const quantities: readonly FunctionEntry[] = [
  [
    'isQuantity',
    slow(
      PARSE_STEPS,
      call1(aString, celBool, (text) => parseQuantity(text) !== null, traverse(0)),
    ),
  ],
  ['quantity', slow(PARSE_STEPS, call1(aString, quantityType, quantityOf, traverse(0)))],
  ['sign', method(call1(aQuantity, celInt, ({ quantity }) => BigInt(signOf(quantity.nanos))))],
  ['isInteger', method(call1(aQuantity, celBool, ({ quantity }) => isInteger(quantity.nanos)))],
  [
    'asInteger',
    method(
      call1(aQuantity, celInt, ({ quantity: { nanos } }) =>
        isInteger(nanos) ? nanos / NANO : new CelFailure('cannot convert value to integer'),
      ),
    ),
  ],
  [
    'asApproximateFloat',
    method(
      call1(
        aQuantity,
        celDouble,
        ({ quantity: { nanos } }) => Number(nanos / NANO) + Number(nanos % NANO) / Number(NANO),
      ),
    ),
  ],
  ['isGreaterThan', comparison(celBool, (order) => order > 0)],
  ['isLessThan', comparison(celBool, (order) => order < 0)],
  ['compareTo', comparison(celInt, (order) => BigInt(order))],
  ['add', ...combination((a, b) => a + b)],
  ['sub', ...combination((a, b) => a - b)],
]

function quantityOf(text: string): Outcome {
  const quantity = parseQuantity(text)
  return quantity === null
    ? new CelFailure(`invalid quantity ${JSON.stringify(text.slice(0, 64))}`)
    : new QuantityValue(quantity)
}

function comparison(result: CelType, decide: (order: number) => Outcome): Overload {
  return method(
    call2(aQuantity, aQuantity, result, (a, b) => decide(signOf(a.quantity.nanos - b.quantity.nanos))),
  )
}

/** Returns the overloads for another quantity and for a whole number. */
function combination(apply: (a: bigint, b: bigint) => bigint): readonly Overload[] {
  const combine = ({ quantity }: QuantityValue, nanos: bigint): QuantityValue =>
    new QuantityValue({ ...quantity, nanos: apply(quantity.nanos, nanos) })
  return [
    method(call2(aQuantity, aQuantity, quantityType, (a, b) => combine(a, b.quantity.nanos))),
    method(call2(aQuantity, anInt, quantityType, (a, b) => combine(a, b * NANO))),
  ]
}

function signOf(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0
}

function isInteger(nanos: bigint): boolean {
  const whole = nanos / NANO
  return nanos % NANO === 0n && whole <= INT_MAX && whole >= -INT_MAX - 1n
}
