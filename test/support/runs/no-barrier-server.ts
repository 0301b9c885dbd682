/*
 * The shipped server with one thing broken on purpose: its read barrier opens at once, and counts
 * as a proof that the member is up to date. A test that does not fail against this program proves
 * nothing about the barrier.
 */
import type { Freshness, ReadPort } from '../../../raft/index.ts'
import { RealClock } from '../../../src/host/clock.ts'
import { main } from '../../../src/main.ts'

const clock = new RealClock()

function freshNow(): Freshness {
  const nowMs = clock.monotonicMs()
  return { asOfMs: nowMs, confirmedMs: nowMs }
}

function alwaysFresh(reads: ReadPort): ReadPort {
  return new Proxy(reads, {
    get: (target, name) => {
      if (name === 'freshness') return freshNow()
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

await main({
  consensus: (real) =>
    new Proxy(real, {
      get: (target, name) => {
        if (name === 'barrier') return () => Promise.resolve(target.status.appliedMemory)
        if (name === 'reads') return alwaysFresh(target.reads)
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    }),
})
