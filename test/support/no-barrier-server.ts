/*
 * The shipped server with one thing broken on purpose: its read barrier opens at once. A test that
 * does not fail against this program proves nothing about the barrier.
 */
import { main } from '../../src/main.ts'

await main({
  consensus: (real) => ({ ...bound(real), barrier: () => Promise.resolve(real.status.appliedMemory) }),
})

/** The same object with its methods bound, so that one can be replaced. */
function bound<T extends object>(real: T): T {
  return new Proxy(real, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
