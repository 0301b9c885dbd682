import { SeededRandom } from '../../base/random.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import { lastDigest } from './checkers/equal-state.ts'
import type { MetFault } from './coverage.ts'
import type { SimulatedDisk } from './disk.ts'
import type { StateCondition } from './divergence.ts'
import { stateImpairments } from './impairments.ts'
import type { Impairment } from './impairments.ts'
import type { DatabaseReport, KeyValueRot, SimKeyValueDisk } from './kv.ts'
import { damageLog, damageRunningLog } from './log-rot.ts'
import type { LogRot, RotOutcome } from './log-rot.ts'
import type { MemberOptions } from './member-options.ts'

export type MemberChecksOptions = {
  readonly id: number
  readonly options: MemberOptions
  readonly state: StateCondition
  readonly impairments: Set<Impairment>
  readonly disk: SimulatedDisk
  readonly database: SimKeyValueDisk
}

/** Damages the disks of one member, and checks that everything the member reports has a cause. */
export class MemberChecks {
  readonly #options: MemberChecksOptions
  /** Whether an operator has requested a repair so far. */
  #repairExpected = false

  constructor(options: MemberChecksOptions) {
    this.#options = options
  }

  expectRepair(): void {
    this.#repairExpected = true
  }

  /** Damages the log of a stopped member. @throws when the damage would go unnoticed */
  rotLog(kind: LogRot, seed: number): void {
    const { id, disk, impairments, options } = this.#options
    const outcome = damageLog(disk, kind, new SeededRandom(seed))
    if (outcome === null) return
    options.world.note(`m${id} log damaged: ${kind}, ${outcome}`)
    options.met(metRot[outcome])
    if (outcome === 'refused') impairments.add('log-damaged')
    if (outcome === 'repairable') impairments.add('log-repairable')
  }

  rotRunningLog(seed: number): void {
    const { id, disk, impairments, options } = this.#options
    const damage = damageRunningLog(disk, new SeededRandom(seed))
    if (damage === null) return
    options.world.note(`m${id} log damaged while it runs: ${damage}`)
    options.met('log-damaged-in-use')
    impairments.add('log-repairable')
  }

  rotDatabase(kind: KeyValueRot, seed: number): void {
    const { id, database, impairments, options } = this.#options
    const damage = database.rot(kind, new SeededRandom(seed))
    if (damage === null) return
    options.world.note(`m${id} database damaged: ${damage}`)
    impairments.add('database-damaged')
  }

  onLogRepaired(): void {
    const { id, impairments, options } = this.#options
    options.world.note(`m${id} repaired its log`)
    options.met('log-repaired')
    impairments.delete('log-repairable')
  }

  /** Checks that a quarantine has a cause. A repaired database counts as undamaged. */
  onDatabaseReport(report: DatabaseReport): void {
    const { id, state, impairments, database, options } = this.#options
    const { world, met, someDiverged } = options
    if (report.kind === 'whole') {
      // The database may have been damaged after it was verified: that is found later.
      if (database.hasRotted(report.name)) return
      if (impairments.delete('database-damaged')) met('database-healed')
      return
    }
    world.note(`m${id} quarantined: ${report.reason}`)
    switch (report.cause) {
      case 'operator':
        if (!this.#repairExpected) world.fail(new Error(`I23: no operator quarantined member ${id}`))
        met(state.isWrong ? 'divergence-repaired' : 'right-repaired')
        impairments.add('state-repaired')
        return
      case 'disagreement':
        met(state.mayBeDistrusted ? 'divergence-suspected' : 'right-suspected')
        if (state.mayBeDistrusted || someDiverged()) return
        world.fail(new Error(`I23: member ${id} is suspect although no state is wrong: ${report.reason}`))
        return
      case 'damaged':
        met('database-quarantined')
        if (stateImpairments.some((impairment) => impairments.has(impairment))) return
        world.fail(new Error(`I23: member ${id} quarantined an undamaged database: ${report.reason}`))
    }
  }

  /** Checks the state after each applied batch and each installed snapshot. */
  onState(machine: StoreMachine): void {
    const { id, state, impairments, options } = this.#options
    const isSuspect = machine.quarantine?.cause === 'disagreement'
    if ((machine.quarantine !== null && !isSuspect) || impairments.has('wiped')) return
    const { world, watcher, met, someDiverged } = options
    const wasWrong = state.isWrong
    const isRight = watcher.isRight(machine)
    if (!state.compared(isRight, watcher.reportsRight(machine), someDiverged())) {
      const what = `at index ${machine.appliedMemory} member ${id} has ${lastDigest(machine)}`
      world.fail(new Error(`I4 equal state: ${what}, which is not the result of the log`))
    }
    if (!isRight && !wasWrong) {
      world.note(`m${id} has a wrong state at ${machine.appliedMemory}`)
      met('divergence')
    }
    if (!isRight || isSuspect) return
    impairments.delete('state-repaired')
    watcher.applied(id, machine)
  }

  /** Checks that only a faulty peer sent an impossible message. */
  onViolation(peer: number, violation: string): void {
    const { id, impairments, options } = this.#options
    options.world.note(`m${id} refuses m${peer}: ${violation}`)
    if (options.mayBeByzantine(peer)) options.met('peer-violation')
    else if (!impairments.has('wiped')) {
      const what = `member ${id} refused an honest message of member ${peer}: ${violation}`
      options.world.fail(new Error(what))
    }
  }
}

const metRot: Readonly<Record<RotOutcome, MetFault>> = {
  refused: 'log-refused',
  repairable: 'log-repairable',
  repaired: 'log-repaired',
  harmless: 'log-damage-harmless',
}
