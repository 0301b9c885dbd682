/*
 * Goal: a cached value is computed only on request, at most once for each version of the catalog,
 * and is never older than the catalog at the time of the request.
 * Method: values whose computation the test completes by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deferred } from '../../../../../base/deferred.ts'
import { CatalogCache } from '../../../../../src/server/openapi/catalog-cache.ts'

function bench() {
  const of = { version: 0 }
  const makes: { readonly version: number; readonly done: Deferred<void> }[] = []
  const derived = new CatalogCache(
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

void test('concurrent callers share one computation, and its result is cached', async () => {
  const { makes, derived } = bench()
  const requested = [derived.get(), derived.get(), derived.get()]
  makes[0]?.done.resolve()
  assert.deepEqual(await Promise.all(requested), ['of 0', 'of 0', 'of 0'])
  assert.equal(await derived.get(), 'of 0')
  assert.equal(makes.length, 1)
})

void test('a caller after a change waits for a value that contains it, earlier callers do not', async () => {
  const { of, makes, derived } = bench()
  const early = derived.get()
  of.version = 5
  const late = [derived.get(), derived.get()]
  makes[0]?.done.resolve()
  assert.equal(await early, 'of 0')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(makes.length, 2)
  // A further change does not make these callers wait for a third value.
  of.version = 6
  makes[1]?.done.resolve()
  assert.deepEqual(await Promise.all(late), ['of 5', 'of 5'])
  assert.equal(makes.length, 2)
})

void test('a failed computation rejects its callers and is retried by the next one', async () => {
  const { makes, derived } = bench()
  const requested = [derived.get(), derived.get()]
  makes[0]?.done.reject(new Error('no memory'))
  for (const one of requested) await assert.rejects(one, /no memory/)
  const again = derived.get()
  makes[1]?.done.resolve()
  assert.equal(await again, 'of 0')
})
