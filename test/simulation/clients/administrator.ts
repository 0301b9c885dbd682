import type { SeededRandom } from '../../../base/random.ts'
import type { Command, Outcome, Settings } from '../../../src/store/command.ts'
import { memberObjectsLevel } from '../../../src/store/machine/feature-level.ts'
import type { World } from '../world.ts'
import { ask } from './connection.ts'
import type { Served } from './served.ts'

/** A planned change of the settings or of the feature level. */
export type PlannedChange =
  | { readonly kind: 'raise'; readonly atMs: number; readonly level: number }
  | { readonly kind: 'settings'; readonly atMs: number; readonly settings: Settings }

export type AdministratorOptions = {
  readonly world: World
  readonly serving: () => readonly Served[]
  /** In order. */
  readonly changes: readonly PlannedChange[]
  /** The settings that are written when the faults end. */
  readonly last: Settings
}

const timeoutMs = 1_000
const againMs = 200

/** Makes one change after the other through any serving member, each until it is in force. */
export class Administrator {
  readonly #options: AdministratorOptions
  readonly #random: SeededRandom
  #left: PlannedChange[]

  constructor(options: AdministratorOptions) {
    this.#options = options
    this.#random = options.world.random.fork()
    this.#left = [...options.changes]
  }

  start(): void {
    this.#later(0)
  }

  /** Makes pending raises of the feature level due at once, and lifts the storage limits. */
  calm(): void {
    const { world, last } = this.#options
    const raises = this.#left.filter(({ kind }) => kind === 'raise').map((change) => ({ ...change, atMs: 0 }))
    const hadSettings = this.#options.changes.length > 0
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
    const [change] = this.#left
    const served = serving()
    if (change === undefined || change.atMs > world.now || served.length === 0) return
    const at = this.#random.pick(served)
    const { identity } = at.store
    if (identity === null) return
    if (isApplied(at, change)) {
      if (this.#left[0] === change) this.#left.shift()
      return
    }
    await ask<Outcome>(world, this.#random, { served: at, timeoutMs }, (one, { deadlineMs }) =>
      one.store.write(commandOf(one, change), deadlineMs),
    )
  }
}

function isApplied({ store }: Served, change: PlannedChange): boolean {
  return change.kind === 'raise'
    ? store.featureLevel >= change.level
    : JSON.stringify(store.settings) === JSON.stringify(change.settings)
}

/**
 * Returns the command of a change. Settings are written only on top of the known ones: an old
 * request must not take effect later.
 */
function commandOf({ store, instance }: Served, change: PlannedChange): Command {
  if (change.kind === 'settings')
    return { kind: 'change-settings', settings: change.settings, expected: store.settings }
  const { level } = change
  const { members } = instance.node.status.decided
  const founding = { members, atMs: Math.floor(instance.clock.wallMs()) }
  return { kind: 'raise-feature-level', level, ...(level < memberObjectsLevel ? {} : { founding }) }
}
