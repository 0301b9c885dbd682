import type { Overload } from '../functions/overload.ts'
import type { Expr } from '../syntax/expr.ts'
import type { CelType } from '../types.ts'

/** An expression with what the checker found, by the ids of its nodes. */
export type Checked = {
  readonly root: Expr
  readonly types: ReadonlyMap<number, CelType>
  readonly calls: ReadonlyMap<number, ResolvedCall>
  /** The names of types, by the ids of the nodes that stand for them. */
  readonly typeNames: ReadonlyMap<number, string>
  readonly variables: ReadonlyMap<string, CelType>
  /** The declared variables that are used. */
  readonly used: ReadonlySet<string>
}

export type ResolvedCall = {
  /** With its namespace: `sets.contains`. */
  readonly name: string
  /** The receiver first. */
  readonly args: readonly Expr[]
  /** The overloads that the types of the arguments allow; at least one. */
  readonly overloads: readonly Overload[]
}

/** Something wrong with an expression, at an index in its source. */
export type Fault = { readonly at: number; readonly message: string }
