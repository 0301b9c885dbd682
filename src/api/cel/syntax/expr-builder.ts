import { celLimits } from '../limits.ts'
import type { Comprehension, Expr, ListElement, Literal, MapEntry } from './expr.ts'
import { SyntaxFault } from './syntax-fault.ts'

/** Creates the nodes of one tree, within the limits on its depth and size. */
export class ExprBuilder {
  #nodes = 0

  literal(at: number, value: Literal): Expr {
    return { kind: 'literal', value, ...this.#node(at, []) }
  }

  ident(at: number, name: string): Expr {
    return { kind: 'ident', name, ...this.#node(at, []) }
  }

  select(at: number, operand: Expr, field: string, testOnly: boolean): Expr {
    return { kind: 'select', operand, field, testOnly, ...this.#node(at, [operand]) }
  }

  call(at: number, name: string, args: readonly Expr[]): Expr {
    return { kind: 'call', name, target: undefined, args, ...this.#node(at, args) }
  }

  memberCall(at: number, name: string, target: Expr, args: readonly Expr[]): Expr {
    return { kind: 'call', name, target, args, ...this.#node(at, [target, ...args]) }
  }

  list(at: number, elements: readonly ListElement[]): Expr {
    const children = elements.map(({ value }) => value)
    return { kind: 'list', elements, ...this.#node(at, children) }
  }

  map(at: number, entries: readonly MapEntry[]): Expr {
    const children = entries.flatMap(({ key, value }) => [key, value])
    return { kind: 'map', entries, ...this.#node(at, children) }
  }

  struct(at: number, name: string): Expr {
    return { kind: 'struct', name, ...this.#node(at, []) }
  }

  loop(at: number, loop: Omit<Comprehension, 'kind'>): Expr {
    const { range, init, condition, step, result } = loop
    return { kind: 'comprehension', ...loop, ...this.#node(at, [range, init, condition, step, result]) }
  }

  optionalMap(at: number, target: Expr, variable: string, body: Expr, flat: boolean): Expr {
    return { kind: 'opt-map', target, variable, body, flat, ...this.#node(at, [target, body]) }
  }

  /** @throws SyntaxFault at a limit */
  #node(at: number, children: readonly Expr[]): { id: number; at: number; depth: number } {
    let depth = 0
    for (const child of children) if (child.depth > depth) depth = child.depth
    if (depth >= celLimits.depthMax) throw tooDeep(at)
    if (this.#nodes >= celLimits.nodesMax)
      throw new SyntaxFault(at, `expression has more than ${celLimits.nodesMax} parts`)
    return { id: this.#nodes++, at, depth: depth + 1 }
  }
}

export function tooDeep(at: number): SyntaxFault {
  return new SyntaxFault(at, `expression is nested deeper than ${celLimits.depthMax} levels`)
}
