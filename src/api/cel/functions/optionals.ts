import { celBool, celOptional } from '../types.ts'
import { CelFailure, CelOptional } from '../values/value.ts'
import { isZeroValue } from '../values/zero-value.ts'
import type { FunctionEntry } from './overload.ts'
import { call0, call1, call2, method } from './overload.ts'
import { any, optionalOf, typeA } from './params.ts'

const anyA = any(typeA)
const optionalA = optionalOf(typeA)

/**
 * Values that may be absent.
 *
 * @source cel-go `cel/library.go`, OptionalTypes
 */
export const optionals: readonly FunctionEntry[] = [
  ['optional.none', call0(celOptional(typeA), () => CelOptional.none)],
  ['optional.of', call1(anyA, celOptional(typeA), (value) => new CelOptional(value))],
  [
    'optional.ofNonZeroValue',
    call1(anyA, celOptional(typeA), (value) =>
      isZeroValue(value) ? CelOptional.none : new CelOptional(value),
    ),
  ],
  ['hasValue', method(call1(optionalA, celBool, ({ value }) => value !== undefined))],
  [
    'value',
    method(
      call1(optionalA, typeA, ({ value }) =>
        value === undefined ? new CelFailure('optional.none() dereference') : value,
      ),
    ),
  ],
  ['or', method(call2(optionalA, optionalA, celOptional(typeA), (a, b) => (a.value === undefined ? b : a)))],
  [
    'orValue',
    method(call2(optionalA, anyA, typeA, ({ value }, other) => (value === undefined ? other : value))),
  ],
]
