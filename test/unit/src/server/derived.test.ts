/*
 * Goal: what is derived is made once for each change that somebody asks about, and is never older than the question.
 * Method: values whose making the test ends by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deferred } from '../../../../base/deferred.ts'
import { Derived } from '../../../../src/server/derived.ts'

function bench() {
  const of = { version: 0 }
  const makes: { readonly version: number; readonly done: Deferred<void> }[] = []
  const derived = new Derived(
    () => of.version,
    async () => {
      const make = { version: of.version, done: new Deferred<void>() }
      makes.push(make)
      await make.done.promise
      return `of ${make.version}`
    },
  )
  return { of, makes, derived }
}

void test('all who ask meanwhile share one, and then it is kept', async () => {
  const { makes, derived } = bench()
  const asked = [derived.get(), derived.get(), derived.get()]
  makes[0]?.done.resolve()
  assert.deepEqual(await Promise.all(asked), ['of 0', 'of 0', 'of 0'])
  assert.equal(await derived.get(), 'of 0')
  assert.equal(makes.length, 1)
})

void test('who asks behind a change waits for one that has it, and others need not', async () => {
  const { of, makes, derived } = bench()
  const early = derived.get()
  of.version = 5
  const late = [derived.get(), derived.get()]
  makes[0]?.done.resolve()
  assert.equal(await early, 'of 0')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(makes.length, 2)
  // However often it changes now, these have what they asked for.
  of.version = 6
  makes[1]?.done.resolve()
  assert.deepEqual(await Promise.all(late), ['of 5', 'of 5'])
  assert.equal(makes.length, 2)
})

void test('what failed is told to those who waited, and tried again by the next', async () => {
  const { makes, derived } = bench()
  const asked = [derived.get(), derived.get()]
  makes[0]?.done.reject(new Error('no memory'))
  for (const one of asked) await assert.rejects(one, /no memory/)
  const again = derived.get()
  makes[1]?.done.resolve()
  assert.equal(await again, 'of 0')
})
