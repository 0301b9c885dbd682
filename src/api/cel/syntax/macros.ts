import type { Expr } from './expr.ts'
import { ACCUMULATOR, OPERATOR } from './expr.ts'
import type { ExprBuilder } from './expr-builder.ts'
import { SyntaxFault } from './syntax-fault.ts'

/**
 * Expands a call of a macro into the expression that it stands for.
 *
 * @param at index of the parenthesis
 * @returns undefined if the call is not one of a macro
 * @throws SyntaxFault if its arguments are not what the macro needs
 */
export function expandMacro(
  build: ExprBuilder,
  at: number,
  name: string,
  target: Expr | undefined,
  args: readonly Expr[],
): Expr | undefined {
  const [first, second, third] = args
  if (target === undefined) {
    return name === 'has' && args.length === 1 && first !== undefined ? expandHas(build, first) : undefined
  }
  if (first === undefined || second === undefined || args.length > 3) return undefined
  if (third !== undefined && name !== 'map') return undefined
  const expand = Object.hasOwn(EXPANSIONS, name) ? EXPANSIONS[name] : undefined
  if (expand === undefined) return undefined
  if (first.kind !== 'ident') throw new SyntaxFault(first.at, 'argument must be a simple name')
  return expand({ build, at, target, variable: first.name, body: second, mapped: third })
}

type MacroCall = {
  readonly build: ExprBuilder
  readonly at: number
  readonly target: Expr
  readonly variable: string
  readonly body: Expr
  /** The third argument of `map(x, condition, value)`. */
  readonly mapped: Expr | undefined
}

const EXPANSIONS: Readonly<Record<string, (call: MacroCall) => Expr>> = {
  all: expandAll,
  exists: expandExists,
  exists_one: expandExistsOne,
  existsOne: expandExistsOne,
  map: expandMap,
  filter: expandFilter,
  optMap: (call) => call.build.optionalMap(call.at, call.target, call.variable, call.body, false),
  optFlatMap: (call) => call.build.optionalMap(call.at, call.target, call.variable, call.body, true),
}

function expandHas(build: ExprBuilder, argument: Expr): Expr {
  if (argument.kind !== 'select' || argument.testOnly)
    throw new SyntaxFault(argument.at, 'invalid argument to has() macro')
  return build.select(argument.at, argument.operand, argument.field, true)
}

function expandAll({ build, at, target, variable, body }: MacroCall): Expr {
  return build.loop(at, {
    variable,
    range: target,
    init: build.literal(at, { type: 'bool', value: true }),
    condition: build.call(at, OPERATOR.notStrictlyFalse, [accumulator(build, at)]),
    step: build.call(at, OPERATOR.and, [accumulator(build, at), body]),
    result: accumulator(build, at),
  })
}

function expandExists({ build, at, target, variable, body }: MacroCall): Expr {
  const isFalse = build.call(at, OPERATOR.not, [accumulator(build, at)])
  return build.loop(at, {
    variable,
    range: target,
    init: build.literal(at, { type: 'bool', value: false }),
    condition: build.call(at, OPERATOR.notStrictlyFalse, [isFalse]),
    step: build.call(at, OPERATOR.or, [accumulator(build, at), body]),
    result: accumulator(build, at),
  })
}

function expandExistsOne({ build, at, target, variable, body }: MacroCall): Expr {
  const one = build.literal(at, { type: 'int', value: 1n })
  const more = build.call(at, OPERATOR.add, [accumulator(build, at), one])
  return build.loop(at, {
    variable,
    range: target,
    init: build.literal(at, { type: 'int', value: 0n }),
    condition: always(build, at),
    step: build.call(at, OPERATOR.conditional, [body, more, accumulator(build, at)]),
    result: build.call(at, OPERATOR.equals, [
      accumulator(build, at),
      build.literal(at, { type: 'int', value: 1n }),
    ]),
  })
}

function expandMap(call: MacroCall): Expr {
  return call.mapped === undefined
    ? collect(call, undefined, call.body)
    : collect(call, call.body, call.mapped)
}

function expandFilter(call: MacroCall): Expr {
  return collect(call, call.body, call.build.ident(call.at, call.variable))
}

/** A loop that appends a value for each element that fulfills the condition. */
function collect({ build, at, target, variable }: MacroCall, condition: Expr | undefined, value: Expr): Expr {
  const one = build.list(at, [{ value, optional: false }])
  const more = build.call(at, OPERATOR.add, [accumulator(build, at), one])
  return build.loop(at, {
    variable,
    range: target,
    init: build.list(at, []),
    condition: always(build, at),
    step:
      condition === undefined
        ? more
        : build.call(at, OPERATOR.conditional, [condition, more, accumulator(build, at)]),
    result: accumulator(build, at),
  })
}

function accumulator(build: ExprBuilder, at: number): Expr {
  return build.ident(at, ACCUMULATOR)
}

function always(build: ExprBuilder, at: number): Expr {
  return build.literal(at, { type: 'bool', value: true })
}
