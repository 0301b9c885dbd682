import type { LogToRaft, RaftToLog } from '../../raft/log/log-protocol.ts'
import type { RaftToApi } from '../../raft/protocol/thread-messages.ts'
import type { Configuration } from '../../raft/index.ts'
import type { LogStore, PeerMessage } from '../../raft/ports.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import { ConsensusCheckers } from './checkers/consensus-checkers.ts'
import { EqualState, lastDigest } from './checkers/equal-state.ts'
import { Finding } from './checkers/finding.ts'
import { checkPrefix, checkRevision } from './checkers/state-prefix.ts'
import type { Truth } from './checkers/truth.ts'
import type { ProcessInstance, Serving, Watcher } from './process-instance.ts'
import type { Member } from './member.ts'

/**
 * One in this many applied batches, counted over all members, is followed by a comparison with
 * `Truth`, object by object.
 */
const fullCheckEvery = 50

/**
 * Passes what members and network do to the checkers of consensus and of the replicated state. A
 * finding ends the run.
 */
export abstract class ConsensusWatcher implements Watcher {
  protected readonly consensus: ConsensusCheckers
  protected readonly states = new EqualState()
  /** Members that installed a snapshot and were not compared since. */
  readonly #installed = new Set<number>()
  /** Snapshots that members installed. */
  snapshots = 0
  #applied = 0

  /** @param founding the initial members, with which the logs of all founders begin */
  constructor(founding: Configuration) {
    this.consensus = new ConsensusCheckers(founding)
  }

  abstract serving(member: number, instance: ProcessInstance): Serving

  /** The committed history. */
  get truth(): Truth {
    return this.consensus.truth
  }

  /** A message between members, as it is sent. */
  message(message: PeerMessage): void {
    this.consensus.message(message)
  }

  opened(member: number, log: LogStore): void {
    this.states.started(member)
    this.consensus.opened(member, log)
  }

  toLog(member: number, message: RaftToLog): void {
    this.consensus.toLog(member, message)
  }

  fromLog(member: number, message: LogToRaft): void {
    this.consensus.fromLog(member, message)
  }

  toApi(member: number, message: RaftToApi): void {
    if (message.kind === 'install') {
      this.snapshots++
      this.#installed.add(member)
    }
    this.consensus.toApi(member, message)
  }

  /** Returns whether the state of a member is the result of the log. */
  isRight(machine: StoreMachine): boolean {
    return this.consensus.reference.agrees(machine.appliedMemory, lastDigest(machine))
  }

  /** Returns whether each digest that a member reports is the result of the log. */
  reportsRight(machine: StoreMachine): boolean {
    const { reference } = this.consensus
    return machine.samples.every(({ index, digest }) => reference.agrees(index, digest))
  }

  applied(member: number, machine: StoreMachine): void {
    const { truth } = this.consensus
    this.states.applied(member, machine.appliedMemory, machine.digest)
    checkRevision(member, machine.state, truth)
    const isNew = this.#installed.delete(member)
    if (isNew || ++this.#applied % fullCheckEvery === 0) checkPrefix(member, machine.state, truth)
  }

  /**
   * Checks at the end that healthy members have exactly the committed history.
   *
   * @throws Finding
   */
  protected checkEnd(healthy: readonly Member[]): void {
    const { truth } = this.consensus
    for (const { id, instance } of healthy) {
      const machine = instance?.machine ?? null
      if (machine === null) throw new Finding('I5 lost write', `at the end member ${id} has no state`)
      checkPrefix(id, machine.state, truth)
      if (machine.state.revision !== truth.revision) {
        throw new Finding(
          'I5 lost write',
          `at the end member ${id} is at ${machine.state.revision} of ${truth.revision}`,
        )
      }
    }
  }
}
