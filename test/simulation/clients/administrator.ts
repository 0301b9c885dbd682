import type { SeededRandom } from '../../../base/random.ts'
import type { Command, Outcome, Settings } from '../../../src/store/command.ts'
import { memberObjectsLevel } from '../../../src/store/machine/feature-level.ts'
import type { World } from '../world.ts'
import { ask } from './connection.ts'
import type { Served } from './served.ts'

/** What somebody asks of the whole cluster, at some time of the run. */
export type Wish =
  | { readonly kind: 'raise'; readonly atMs: number; readonly level: number }
  | { readonly kind: 'settings'; readonly atMs: number; readonly settings: Settings }

export type AdministratorOptions = {
  readonly world: World
  readonly serving: () => readonly Served[]
  /** In order. */
  readonly wishes: readonly Wish[]
  /** What is to hold when there is no more harm. */
  readonly last: Settings
}

const timeoutMs = 1_000
const againMs = 200

/** Asks for one thing after the other, at whoever serves, each until it is so. */
export class Administrator {
  readonly #options: AdministratorOptions
  readonly #random: SeededRandom
  #left: Wish[]

  constructor(options: AdministratorOptions) {
    this.#options = options
    this.#random = options.world.random.fork()
    this.#left = [...options.wishes]
  }

  start(): void {
    this.#later(0)
  }

  /** From now on nothing is refused for its size. */
  calm(): void {
    const { world, last } = this.#options
    const raises = this.#left.filter(({ kind }) => kind === 'raise').map((wish) => ({ ...wish, atMs: 0 }))
    const hadSettings = this.#options.wishes.length > 0
    this.#left = [
      ...raises,
      ...(hadSettings ? [{ kind: 'settings', atMs: world.now, settings: last } as const] : []),
    ]
  }

  #later(ms: number): void {
    const { world } = this.#options
    world.schedule(ms, 'administrator', null, () => {
      this.#act().then(
        () => this.#later(againMs),
        (cause: unknown) => world.fail(cause),
      )
    })
  }

  async #act(): Promise<void> {
    const { world, serving } = this.#options
    const [wish] = this.#left
    const served = serving()
    if (wish === undefined || wish.atMs > world.now || served.length === 0) return
    const at = this.#random.pick(served)
    const { identity } = at.store
    if (identity === null) return
    if (isSo(at, wish)) {
      if (this.#left[0] === wish) this.#left.shift()
      return
    }
    await ask<Outcome>(world, this.#random, { served: at, timeoutMs }, (one, { deadlineMs }) =>
      one.store.write(commandOf(one, wish), deadlineMs),
    )
  }
}

function isSo({ store }: Served, wish: Wish): boolean {
  return wish.kind === 'raise'
    ? store.featureLevel >= wish.level
    : JSON.stringify(store.settings) === JSON.stringify(wish.settings)
}

/** Settings only in place of those that are known: what was asked for long ago shall not come back. */
function commandOf({ store, life }: Served, wish: Wish): Command {
  if (wish.kind === 'settings')
    return { kind: 'change-settings', settings: wish.settings, expected: store.settings }
  const { level } = wish
  const { members } = life.node.status.decided
  const founding = { members, atMs: Math.floor(life.clock.wallMs()) }
  return { kind: 'raise-feature-level', level, ...(level < memberObjectsLevel ? {} : { founding }) }
}
