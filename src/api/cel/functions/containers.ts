import { celInt, celOptional } from '../types.ts'
import type { CelList, CelMap, CelValue } from '../values/value.ts'
import { CelFailure, CelOptional, CelUint } from '../values/value.ts'
import type { FunctionEntry, Outcome } from './overload.ts'
import { call1, call2, method } from './overload.ts'
import { aString, any, bytes, dyn, listOf, mapOf, optionalOf, typeA, typeB } from './params.ts'
import { anInt } from './params.ts'

const listOfA = listOf(typeA)
const mapOfAB = mapOf(typeA, typeB)
const anyA = any(typeA)

/** Sizes and elements of lists and maps. */
export const containers: readonly FunctionEntry[] = [
  [
    'size',
    ...[
      call1(aString, celInt, (text, evaluation) => BigInt(evaluation.textSize(text))),
      call1(bytes, celInt, (value) => BigInt(value.length)),
      call1(listOfA, celInt, (list) => BigInt(list.size)),
      call1(mapOfAB, celInt, (map) => BigInt(map.size)),
    ].flatMap((overload) => [overload, method(overload)]),
  ],
  [
    '_[_]',
    call2(listOfA, anInt, typeA, (list, index) => elementAt(list, index)),
    call2(mapOfAB, anyA, typeB, (map, key) => valueAt(map, key)),
    call2(optionalOf(listOfA.type), anInt, celOptional(typeA), optionalElement),
    call2(optionalOf(mapOfAB.type), anyA, celOptional(typeB), optionalElement),
    // Only evaluation shows whether the index is a whole number.
    call2(listOfA, dyn, typeA, (list, index) => elementAt(list, index)),
  ],
  [
    '_[?_]',
    call2(listOfA, anInt, celOptional(typeA), (list, index) => optionalOfOutcome(findIn(list, index))),
    call2(mapOfAB, anyA, celOptional(typeB), (map, key) => optionalOfOutcome(map.get(key))),
    call2(optionalOf(listOfA.type), anInt, celOptional(typeA), optionalElement),
    call2(optionalOf(mapOfAB.type), anyA, celOptional(typeB), optionalElement),
  ],
]

function elementAt(list: CelList, index: CelValue): Outcome {
  const found = findIn(list, index)
  return found === undefined ? new CelFailure(`index out of bounds: ${shown(index)}`) : found
}

function findIn(list: CelList, index: CelValue): Outcome | undefined {
  const at = index instanceof CelUint ? Number(index.value) : wholeNumber(index)
  if (at === undefined) return new CelFailure('no such overload')
  return at >= 0 && at < list.size ? list.at(at) : undefined
}

function wholeNumber(index: CelValue): number | undefined {
  if (typeof index === 'bigint') return Number(index)
  return typeof index === 'number' && Number.isInteger(index) ? index : undefined
}

function valueAt(map: CelMap, key: CelValue): Outcome {
  const found = map.get(key)
  return found === undefined ? new CelFailure(`no such key: ${shown(key)}`) : found
}

function optionalElement(optional: CelOptional, key: CelValue): Outcome {
  const { value } = optional
  if (value === undefined) return optional
  if (listOfA.is(value)) return optionalOfOutcome(findIn(value, key))
  return mapOfAB.is(value) ? optionalOfOutcome(value.get(key)) : new CelFailure('no such overload')
}

function optionalOfOutcome(found: Outcome | undefined): Outcome {
  if (found instanceof CelFailure) return found
  return found === undefined ? CelOptional.none : new CelOptional(found)
}

/** A key or index in the text of an error. */
function shown(key: CelValue): string {
  if (key instanceof CelUint) return key.value.toString()
  return typeof key === 'object' ? 'value' : String(key).slice(0, 200)
}
