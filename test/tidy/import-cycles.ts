/*
 * The imports of source files, and the groups of files that import each other.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Returns the paths, relative to `root`, of the sources that one file imports. */
export function importsOf(root: string, path: string): readonly string[] {
  const targets = readFileSync(join(root, path), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g)
  return [...targets].map(([, target]) => relative(root, join(root, dirname(path), target as string)))
}

/**
 * Returns the groups of more than one file that all reach each other: the strongly connected
 * components.
 *
 * @source Tarjan 1972
 */
export function cyclesIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (path: string): number => {
    const at = order.size
    order.set(path, at)
    low.set(path, at)
    stack.push(path)
    for (const next of imports.get(path) ?? []) {
      const reached = !order.has(next) ? visit(next) : stack.includes(next) ? (order.get(next) ?? at) : at
      low.set(path, Math.min(low.get(path) ?? at, reached))
    }
    if (low.get(path) === at) {
      const group = stack.splice(stack.indexOf(path))
      if (group.length > 1) cycles.push(group.sort())
    }
    return low.get(path) ?? at
  }
  for (const path of imports.keys()) if (!order.has(path)) visit(path)
  return cycles
}
