/*
 * Goal: a response, and the initial state of a watch, may not be staler than its proof states, nor
 * its bound larger than requested.
 * Method: one write that was acknowledged at 1000 ms, and later readers that get the state before
 * or after it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../base/assert.ts'
import { checkBounds } from '../../simulation/checkers/bounds.ts'
import type { Mode, Proof } from '../../simulation/clients/history.ts'
import { HistoryBuilder } from './history-builder.ts'

const key = 'default/a'
const requested: Mode = { kind: 'bounded', boundMs: 100 }

/** Revision 2 replaced revision 1, and was acknowledged at 1000 ms. */
function oneWrite(): HistoryBuilder {
  const all = new HistoryBuilder()
  all.write(key, '1')
  all.write(key, '2')
  all.nowMs = 1000
  all.call({ kind: 'update', key, token: '2', expected: null, creates: true }, all.object(2))
  return all
}

function proof(more: Partial<Proof>): Proof {
  return { mode: 'bounded', boundMs: 100, revision: 1, atMs: 0, ...more }
}

type Reader = (all: HistoryBuilder, proof: Proof) => void
const readers: Readonly<Record<string, Reader>> = {
  get: (all, of) => {
    all.call({ kind: 'get', key, mode: requested }, all.object(of.revision)).proof = of
  },
  list: (all, of) => {
    const range = { namespace: null, color: null }
    const request = { kind: 'list', range, mode: requested, limit: null, pagesOf: 1, page: 0 } as const
    all.call(request, all.list(of.revision, [of.revision])).proof = of
  },
  watch: (all, of) => {
    all.watch({ start: { kind: 'state', marked: false }, mode: requested, proof: of, events: [] })
  },
}

for (const [name, read] of Object.entries(readers)) {
  const judged = (of: Partial<Proof>): (() => void) => {
    const all = oneWrite()
    read(all, proof(of))
    return () => checkBounds(all.history, all.truth)
  }
  const finds = (claim: RegExp, check: () => void): void => {
    assert.throws(check, (cause) => cause instanceof BrokenInvariant && claim.test(cause.message))
  }

  void test(`${name}: a read is at most as stale as its answer states`, () => {
    judged({ atMs: 1050 })()
    judged({ atMs: 1500, revision: 2 })()
    finds(/^I21 bound: 2 was acknowledged .* ms before/, judged({ atMs: 1500 }))
    finds(/^I21 bound: 2 was acknowledged/, judged({ atMs: 1500, mode: 'any' }))
    judged({ atMs: 1500, mode: 'any', boundMs: null })()
    judged({ atMs: 1500, mode: 'any', boundMs: 600 })()
  })

  void test(`${name}: the bound of a read is not larger than requested`, () => {
    finds(/^I21 bound: 101 ms exceeds the bound/, judged({ atMs: 1050, boundMs: 101 }))
  })
}
