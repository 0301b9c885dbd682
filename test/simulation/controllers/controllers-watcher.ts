import { assert } from '../../../base/assert.ts'
import type { Configuration } from '../../../raft/index.ts'
import type { Names } from '../../../src/api/metadata/names.ts'
import { checkPrefix } from '../checkers/state-prefix.ts'
import { ConsensusWatcher } from '../consensus-watcher.ts'
import type { Member } from '../member.ts'
import type { ProcessInstance, Serving } from '../process-instance.ts'
import { ControlledProcess } from './controlled-process.ts'
import type { ControlledOptions } from './controlled-process.ts'
import { checkOrder } from './order.ts'
import { checkSteps } from './steps.ts'

export type ControllersWatcherOptions = Omit<ControlledOptions, 'isFirstLeader'> & {
  /** The initial members, with which the logs of all founders begin. */
  readonly founding: Configuration
}

/** Serves the API of all members, and checks the history that results. */
export class ControllersWatcher extends ConsensusWatcher {
  readonly #options: ControllersWatcherOptions
  readonly #served = new Map<number, ControlledProcess>()
  /** The term of the first leader that served. null: none did */
  #firstTerm: number | null = null

  constructor(options: ControllersWatcherOptions) {
    super(options.founding)
    this.#options = options
  }

  /** Serving processes, in order of their members. */
  get served(): readonly ControlledProcess[] {
    return [...this.#served.values()].filter(({ gone }) => !gone).toSorted((a, b) => a.member - b.member)
  }

  /** Number of distinct leader terms. */
  get leaderships(): number {
    return this.consensus.leaderTerms
  }

  serving(member: number, instance: ProcessInstance): Serving {
    const { machine, store } = instance
    assert(machine !== null && store !== null, 'a serving member has a state')
    checkPrefix(member, machine.state, this.truth)
    const isFirstLeader = (term: number): boolean => {
      this.#firstTerm ??= term
      return term === this.#firstTerm
    }
    const served = new ControlledProcess(
      { ...this.#options, isFirstLeader },
      { member, instance, machine, store },
    )
    this.#served.set(member, served)
    return served
  }

  /**
   * Checks the whole history at the end.
   *
   * @returns the number of steps that were checked, by rule
   * @throws Finding
   */
  check(names: Names, members: readonly Member[]): ReadonlyMap<string, number> {
    this.checkEnd(members)
    checkOrder(names, this.truth)
    return checkSteps(names, this.truth)
  }
}
