/*
 * The shipped server with one thing broken on purpose: its read barrier opens at once. A test that
 * does not fail against this program proves nothing about the barrier.
 */
import { main } from '../../../src/main.ts'

await main({
  consensus: (real) =>
    new Proxy(real, {
      get: (target, name) => {
        if (name === 'barrier') return () => Promise.resolve(target.status.appliedMemory)
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    }),
})
