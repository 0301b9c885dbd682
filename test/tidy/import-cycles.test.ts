/*
 * Goal: files that import each other, directly or through others, are one file in several pieces.
 * Method: the strongly connected components of all imports, types included (Tarjan 1972).
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { root } from './markdown.ts'
import { productFolders, sourcesUnder } from './sources.ts'

function importsOf(path: string): readonly string[] {
  const targets = readFileSync(join(root, path), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g)
  return [...targets].map(([, target]) => relative(root, join(root, dirname(path), target as string)))
}

/** Returns the groups of more than one file that all reach each other. */
function cyclesIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[][] {
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

void test('a cycle through three files is found', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['a']],
    ['d', []],
  ])
  assert.deepEqual(cyclesIn(imports), [['a', 'b', 'c']])
})

void test('no file of the product imports itself through others', () => {
  const paths = productFolders.flatMap(sourcesUnder)
  assert.ok(paths.length > 500, 'sources were found')
  assert.deepEqual(cyclesIn(new Map(paths.map((path) => [path, importsOf(path)]))), [])
})
