/** The syntax tree of an expression, with macros expanded. */
export type Expr = Node &
  (
    | { readonly kind: 'literal'; readonly value: Literal }
    | { readonly kind: 'ident'; readonly name: string }
    /** `a.b`, or `has(a.b)` if it only tests. */
    | {
        readonly kind: 'select'
        readonly operand: Expr
        readonly field: string
        readonly testOnly: boolean
      }
    | {
        readonly kind: 'call'
        readonly name: string
        readonly target: Expr | undefined
        readonly args: readonly Expr[]
      }
    | { readonly kind: 'list'; readonly elements: readonly ListElement[] }
    | { readonly kind: 'map'; readonly entries: readonly MapEntry[] }
    /** `Type{field: value}`, which no environment here has: the checker rejects it. */
    | { readonly kind: 'struct'; readonly name: string }
    | Comprehension
    /** `target.optMap(variable, body)`, or `optFlatMap` if it is flat. */
    | {
        readonly kind: 'opt-map'
        readonly target: Expr
        readonly variable: string
        readonly body: Expr
        readonly flat: boolean
      }
  )

/**
 * A loop over a list, or over the keys of a map: while the condition holds, the accumulator is set
 * to the value of `step`.
 */
export type Comprehension = {
  readonly kind: 'comprehension'
  readonly variable: string
  readonly range: Expr
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

export type ListElement = { readonly value: Expr; readonly optional: boolean }
export type MapEntry = { readonly key: Expr; readonly value: Expr; readonly optional: boolean }

type Node = {
  /** Unique in the tree, from 0. */
  readonly id: number
  /** Where errors point to, as an index in the source. */
  readonly at: number
  /** Nesting depth of the tree below. */
  readonly depth: number
}

/** Plain values, so that the syntax does not depend on the values of evaluation. */
export type Literal =
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'int' | 'uint'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: Uint8Array }
  | { readonly type: 'null' }

/** The accumulator of every loop. No expression can name it. */
export const ACCUMULATOR = '@result'

/** Functions that operators stand for. */
export const OPERATOR = {
  conditional: '_?_:_',
  and: '_&&_',
  or: '_||_',
  not: '!_',
  negate: '-_',
  add: '_+_',
  subtract: '_-_',
  equals: '_==_',
  index: '_[_]',
  optionalIndex: '_[?_]',
  optionalSelect: '_?._',
  notStrictlyFalse: '@not_strictly_false',
} as const
