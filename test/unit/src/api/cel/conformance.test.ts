/*
 * Goal: the evaluator conforms to the Common Expression Language, and its types and errors are
 * those of cel-go, which upstream uses.
 * Method: runs every public conformance case of the language (cel-spec). What this project leaves
 * out is listed below with the number of cases that fail for it, so that the list fails when a case
 * begins to pass, or when another one stops.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js'
import type { SerializedIncrementalTest } from '@bufbuild/cel-spec/testdata/tests.js'
import { compileCel, showCelErrors } from '../../../../../src/api/cel/cel.ts'
import { typeName } from '../../../../../src/api/cel/check/type-name.ts'
import { readCase, runCase } from './conformance-case.ts'

type Case = SerializedIncrementalTest & { readonly file: string; readonly path: string }

const cases: readonly Case[] = (tests.suites ?? []).flatMap((file) =>
  (file.suites ?? []).flatMap((section) =>
    (section.tests ?? []).map((one) => ({
      ...one,
      file: file.name,
      path: `${file.name}/${section.name}/${one.original.name ?? ''}`,
    })),
  ),
)

type Exclusion = {
  readonly reason: string
  /** Covered cases that fail. The others pass, such as those that expect an error. */
  readonly failing: number
  readonly covers: (one: Case) => boolean
}

/** A case belongs to the first exclusion that covers it. */
const exclusions: readonly Exclusion[] = [
  {
    reason: 'an extension that validation rules of upstream do not have: math, bind, block, encoders, proto',
    failing: 246,
    covers: ({ file }) => /^(?:math|bindings|block|encoders|proto2)_ext$/.test(file),
  },
  {
    reason: 'macros with two variables, which validation rules of upstream do not have',
    failing: 38,
    covers: ({ file }) => file === 'macros2',
  },
  {
    reason: 'names in backticks, which validation rules of upstream replace by escapes such as __dash__',
    failing: 28,
    covers: ({ original }) => original.expr.includes('`'),
  },
  {
    reason: 'messages of protocol buffers and their enums: values are JSON here',
    failing: 570,
    covers: ({ original }) =>
      /TestAllTypes|TestRequired|(?:Global|Nested)Enum|google\.protobuf\.|Value\{/.test(
        JSON.stringify([original.expr, original['typeEnv'] ?? '', original['bindings'] ?? '']),
      ),
  },
  {
    reason: 'expressions that are evaluated without a check of their types: every expression is checked',
    failing: 30,
    covers: ({ original }) => original['disableCheck'] === true,
  },
  {
    reason: 'containers and variables with dots in their names: rules have neither',
    failing: 5,
    covers: ({ original }) => /"name":"\w+\.\w|"container"/.test(JSON.stringify(original)),
  },
  {
    reason: 'functions that a case declares: the set of functions is fixed',
    failing: 5,
    covers: ({ original }) => JSON.stringify(original['typeEnv'] ?? '').includes('"function"'),
  },
]

const exclusionOf = (one: Case): Exclusion | undefined => exclusions.find(({ covers }) => covers(one))

void describe('the conformance cases of the language', () => {
  void test('every case that no exclusion covers passes', () => {
    const included = cases.filter((one) => exclusionOf(one) === undefined)
    assert.ok(included.length > 1100, `${included.length} of ${cases.length} cases`)
    const wrong = included.flatMap(({ path, original }) => {
      const result = runCase(original)
      return result === undefined ? [] : [`${path}: ${original.expr}: ${result}`]
    })
    assert.deepEqual(wrong, [])
  })

  for (const exclusion of exclusions) {
    void test(`the number of cases excluded for ${exclusion.reason} is exact`, () => {
      const covered = cases.filter((one) => exclusionOf(one) === exclusion)
      const failing = covered.filter(({ original }) => runCase(original) !== undefined)
      const paths = failing.map(({ path }) => path).join(', ')
      assert.equal(failing.length, exclusion.failing, `${failing.length} fail: ${paths.slice(0, 2000)}`)
    })
  }

  void test('the type of each expression is the one that cel-go finds', () => {
    let compared = 0
    const wrong = cases.flatMap((one) => {
      const { expr, variables } = readCase(one.original)
      const compiled = compileCel(expr, { variables, mixedLiterals: true })
      if (compiled.kind !== 'compiled' || one.type === undefined || OTHER_TYPES.has(expr)) return []
      if (exclusionOf(one) !== undefined) return []
      compared++
      // cel-go shows the type that a type stands for.
      const expected = one.type.replace(/^type\(.*\)$/, 'type')
      const actual = typeName(compiled.expression.resultType)
      return actual === expected ? [] : [`${one.path}: ${expr}: ${actual}, expected ${expected}`]
    })
    assert.ok(compared > 1000, `${compared} types`)
    assert.deepEqual(wrong, [])
  })

  void test('each error of a check has the position, text and source line of cel-go', () => {
    let compared = 0
    const wrong = cases.flatMap((one) => {
      const { expr, variables } = readCase(one.original)
      const compiled = compileCel(expr, { variables, mixedLiterals: true })
      if (compiled.kind !== 'rejected' || one.error === undefined) return []
      if (exclusionOf(one) !== undefined && one.original['disableCheck'] !== true) return []
      if (/TestAllTypes|Value\{|a\.b\.|unsupported syntax|`/.test(expr + one.error)) return []
      compared++
      const actual = showCelErrors(expr, compiled.errors)
      return actual === one.error ? [] : [`${one.path}\n${actual}\nexpected\n${one.error}`]
    })
    assert.ok(compared > 50, `${compared} errors`)
    assert.deepEqual(wrong, [])
  })
})

/** cel-go's check prefers `null` here; both types accept the same expressions. */
const OTHER_TYPES: ReadonlySet<string> = new Set(['[optional.of(1), null][0]'])
