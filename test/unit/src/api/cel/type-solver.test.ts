/*
 * Goal: the work of checking types grows with the expression, not with its square.
 * Method: look-ups in maps, such as those of type variables, are counted while literals of two
 * sizes are compiled.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { TypeSolver } from '../../../../../src/api/cel/check/type-solver.ts'
import { celInt, celList, celString } from '../../../../../src/api/cel/types.ts'
import { compile } from './cel-support.ts'

for (const element of ['[]', '{}', '[[[]]]', '[{}]']) {
  void test(`a list of ${element} is checked in linear time`, (t) => {
    const [few, many] = [lookUps(t, element, 100), lookUps(t, element, 400)]
    assert.ok(many <= 5 * few, `${few} look-ups for 100 elements, ${many} for 400`)
  })
}

function lookUps(t: TestContext, element: string, count: number): number {
  const source = `[${Array<string>(count).fill(element).join(',')}] == []`
  const get = t.mock.method(Map.prototype, 'get')
  const compiled = compile(source)
  const calls = get.mock.callCount()
  get.mock.restore()
  assert.ok(typeof compiled !== 'string', 'compiled')
  return calls
}

void test('a failed assignment of several types restores what each type variable stood for before', () => {
  const solver = new TypeSolver()
  const [a, b, c] = [solver.fresh(), solver.fresh(), solver.fresh()]
  assert.ok(solver.assign(a, b), 'one stands for the other')
  assert.ok(!solver.assignAll([a, c, celInt], [c, celString, celList(celInt)]), 'different types')
  assert.ok(solver.assign(c, celInt), 'c is free')
  assert.equal(solver.resolve(c), celInt)
  assert.ok(solver.assign(a, celString), 'a is free')
  assert.deepEqual([solver.resolve(a), solver.resolve(b)], [celString, celString])
})
