import { admissionChain } from '../../../../src/admission/chain.ts'
import type { AdmissionPlugin } from '../../../../src/admission/chain.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { Fixture } from '../registry/fixture.ts'

export type Race = {
  /** A function that runs once, between the evaluation of a write and its commit; null: none. */
  before: (() => Promise<unknown>) | null
  /** Whether writes skip the plugins, to create many objects that only have to exist. */
  skipsPlugins: boolean
}

/** Opens a fixture whose next write is overtaken by the writes of `race.before`. */
export async function openRacingFixture(
  plugins: readonly AdmissionPlugin[],
): Promise<{ readonly api: Fixture; readonly race: Race }> {
  const race: Race = { before: null, skipsPlugins: false }
  const wrap = (real: ObjectStore): ObjectStore =>
    new Proxy(real, {
      get: (target, name) => {
        if (name === 'write') {
          return async (...args: Parameters<ObjectStore['write']>) => {
            const first = race.before
            race.before = null
            await first?.()
            return target.write(...args)
          }
        }
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value
      },
    })
  const [full, none] = [admissionChain(plugins), admissionChain([])]
  const admission = new Proxy(full, {
    get: (_, name) => {
      const chain = race.skipsPlugins ? none : full
      const value: unknown = Reflect.get(chain, name, chain)
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(chain) : value
    },
  })
  return { api: await Fixture.open({ admission, wrap }), race }
}
