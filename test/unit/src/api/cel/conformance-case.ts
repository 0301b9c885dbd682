/*
 * One case of the conformance tests of the language: its variables, its expected result, and what
 * our evaluator makes of it.
 */
import type { SerializedIncrementalTest } from '@bufbuild/cel-spec/testdata/tests.js'
import { CelBudget } from '../../../../../src/api/cel/budget.ts'
import { compileCel, evaluateCel, showCelErrors } from '../../../../../src/api/cel/cel.ts'
import type { CelType } from '../../../../../src/api/cel/types.ts'
import {
  celBool,
  celBytes,
  celDouble,
  celDuration,
  celDyn,
  celInt,
  celList,
  celMap,
  celNull,
  celString,
  celTimestamp,
  celUint,
} from '../../../../../src/api/cel/types.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import {
  isJsonList,
  isJsonObject,
  objectMember,
  objectsMember,
  textMember,
} from '../../../../../src/api/json.ts'
import { describeExpected, describeValue, scalarText } from './describe-value.ts'

/** Runs a case. @returns what is wrong; undefined if it passes */
export function runCase(original: SerializedIncrementalTest['original']): string | undefined {
  const test = readCase(original)
  const compiled = compileCel(test.expr, { variables: test.variables, mixedLiterals: true })
  if (compiled.kind === 'rejected') {
    const shown = showCelErrors(test.expr, compiled.errors)
    return test.expectsError ? undefined : shown
  }
  if (test.checkOnly) return undefined
  const outcome = evaluateCel(compiled.expression, test.bindings, new CelBudget(1_000_000))
  if (outcome.kind !== 'value')
    return test.expectsError ? undefined : outcome.kind === 'error' ? outcome.message : outcome.kind
  const actual = describeValue(outcome.value)
  if (test.expectsError) return `an error is expected, the result is ${actual}`
  return actual === test.expected ? undefined : `expected ${test.expected}, the result is ${actual}`
}

export type Case = {
  readonly expr: string
  readonly variables: ReadonlyMap<string, CelType>
  readonly bindings: ReadonlyMap<string, Json>
  readonly expectsError: boolean
  readonly checkOnly: boolean
  readonly expected: string
}

export function readCase(original: JsonObject & { readonly expr: string }): Case {
  const typed = objectMember(original, 'typedResult')
  const value = original['value'] ?? typed['result'] ?? { boolValue: true }
  return {
    expr: original.expr,
    variables: new Map(
      objectsMember(original, 'typeEnv').map((declaration) => [
        textMember(declaration, 'name'),
        readType(objectMember(declaration, 'ident')['type']),
      ]),
    ),
    bindings: new Map(
      Object.entries(objectMember(original, 'bindings')).flatMap(([name, binding]) => {
        const json = isJsonObject(binding) ? plainJson(binding['value']) : undefined
        return json === undefined ? [] : [[name, json]]
      }),
    ),
    expectsError: original['evalError'] !== undefined || original['anyEvalErrors'] !== undefined,
    checkOnly: original['checkOnly'] === true,
    expected: isJsonObject(value) ? describeExpected(value) : '',
  }
}

const PRIMITIVES: Readonly<Record<string, CelType>> = {
  BOOL: celBool,
  INT64: celInt,
  UINT64: celUint,
  DOUBLE: celDouble,
  STRING: celString,
  BYTES: celBytes,
  DURATION: celDuration,
  TIMESTAMP: celTimestamp,
}

function readType(json: Json | undefined): CelType {
  if (!isJsonObject(json)) return celDyn
  for (const kind of ['primitive', 'wellKnown']) {
    const known = PRIMITIVES[textMember(json, kind)]
    if (known !== undefined) return known
  }
  if (textMember(json, 'messageType') === 'google.protobuf.Duration') return celDuration
  if ('null' in json) return celNull
  const list = objectMember(json, 'listType')
  if ('listType' in json) return celList(readType(list['elemType']))
  const map = objectMember(json, 'mapType')
  return 'mapType' in json ? celMap(readType(map['keyType']), readType(map['valueType'])) : celDyn
}

/** Returns the JSON value that stands for a value of the tests in our bindings. */
function plainJson(value: Json | undefined): Json | undefined {
  if (!isJsonObject(value)) return undefined
  const [kind, content] = Object.entries(value)[0] ?? []
  switch (kind) {
    case 'int64Value':
    case 'uint64Value':
      return BigInt(scalarText(content))
    case 'nullValue':
      return null
    case 'listValue':
      return objectsMember(objectMember(value, 'listValue'), 'values').map((item) => plainJson(item) ?? null)
    case 'mapValue':
      return Object.fromEntries(
        objectsMember(objectMember(value, 'mapValue'), 'entries').map((entry) => [
          scalarText(plainJson(entry['key'])),
          plainJson(entry['value']) ?? null,
        ]),
      )
    case 'objectValue':
      return isJsonObject(content) ? content['value'] : undefined
    default:
      return isJsonList(content) ? undefined : content
  }
}
