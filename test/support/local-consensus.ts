import type { Clock } from '../../raft/base/clock.ts'
import { simpleConfiguration } from '../../raft/core/conf-change.ts'
import {
  MembershipFailure,
  encodeEnvelope,
  logIndex,
  nodeId,
  noIndex,
  noTerm,
  planChange,
  term,
} from '../../raft/index.ts'
import type {
  Configuration,
  Consensus,
  ConsensusStatus,
  Fate,
  Freshness,
  LeaseRead,
  LogIndex,
  MemberChange,
  MemberInfo,
  MembersChanged,
  MembershipPort,
} from '../../raft/index.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import type { Outcome } from '../../src/store/command.ts'

/**
 * A cluster of one without threads, disk or elections: what is proposed is committed and applied at
 * once, through the real envelope and the real machine.
 */
export class LocalConsensus implements Consensus<Outcome>, MembershipPort {
  readonly #machine: StoreMachine
  readonly #clock: Clock
  readonly #session: number
  #sequence = 0
  #configuration = configuration
  readonly #listeners = new Set<(applied: LogIndex) => void>()

  constructor(options: { readonly machine: StoreMachine; readonly clock: Clock; readonly session?: number }) {
    this.#machine = options.machine
    this.#clock = options.clock
    this.#session = options.session ?? 1
    if (this.#last > 0) return
    this.#append({ index: logIndex(1), term: onlyTerm, kind: 'configuration', configuration })
  }

  get clusterId(): string {
    return 'c0'.repeat(16)
  }

  get status(): ConsensusStatus {
    return {
      id: onlyMember.id,
      role: 'leader',
      term: onlyTerm,
      leader: onlyMember.id,
      configuration: this.#configuration,
      decided: this.#configuration,
      vote: onlyMember.id,
      commit: this.#last,
      lastIndex: this.#last,
      firstIndex: logIndex(1),
      persistedIndex: this.#last,
      transferTarget: null,
      followers: [],
      appliedMemory: this.#machine.appliedMemory,
      appliedDisk: this.#machine.appliedDisk.index,
      quorumContactMs: 0,
      removed: null,
    }
  }

  onStatus(): () => void {
    return () => undefined
  }

  onApplied(listener: (applied: LogIndex) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async propose(payload: Uint8Array): Promise<Fate<Outcome>> {
    const sequence = ++this.#sequence
    const index = logIndex(this.#last + 1)
    const envelope = {
      session: this.#session,
      sequence,
      acknowledgedBelow: sequence,
      expectedTerm: onlyTerm,
      payload,
    }
    const data = encodeEnvelope(envelope)
    const [settled] = this.#append({ index, term: onlyTerm, kind: 'command', data })
    if (settled?.fate.kind !== 'applied') throw new Error('a proposal of the only member is applied')
    return { kind: 'applied', index, outcome: settled.fate.outcome }
  }

  async barrier(): Promise<LogIndex> {
    const now = this.#clock.monotonicMs()
    this.reads.freshness = { asOfMs: now, confirmedMs: now }
    return this.#last
  }

  /** Its memory is all there is; it leads by a lease when told to. */
  readonly reads = {
    term: onlyTerm,
    freshness: null as Freshness | null,
    leased: false,
    probe: (): void => undefined,
    lease(): LeaseRead | null {
      return this.leased ? { index: noIndex, holds: () => true } : null
    },
    reached: async (): Promise<void> => undefined,
    useLease(wanted: boolean): void {
      this.leased = wanted
    },
  }

  report(): void {}

  onReport(): () => void {
    return () => undefined
  }

  async transferLeadership(): Promise<void> {}

  /** As if everybody were in touch and had caught up. */
  async changeMembers(change: MemberChange): Promise<MembersChanged> {
    const everyone = new Set(this.#configuration.members.map(({ id }) => id))
    const knowledge = {
      ...{ pending: false, settled: true, inTouch: everyone, caughtUp: everyone },
      configurationIndex: this.#last,
    }
    const plan = planChange(this.#configuration, change, knowledge)
    if (plan.kind === 'refused') throw new MembershipFailure(plan.reason, plan.message)
    if (plan.kind === 'change') this.configure(plan.members)
    return { configuration: this.#configuration, index: this.#last }
  }

  /** Puts other members in force, at once. */
  configure(members: readonly MemberInfo[]): void {
    const next = simpleConfiguration(members)
    this.#configuration = next
    const index = logIndex(this.#last + 1)
    this.#append({ index, term: onlyTerm, kind: 'configuration', configuration: next })
  }

  async stop(): Promise<void> {}

  /** Everything in the log is applied; several of these may share a machine. */
  get #last(): LogIndex {
    return this.#machine.appliedMemory
  }

  #append(entry: Parameters<StoreMachine['apply']>[0][number]): ReturnType<StoreMachine['apply']> {
    const settled = this.#machine.apply([entry], this.#session)
    this.#machine.logPersisted(entry.index)
    for (const listener of this.#listeners) listener(entry.index)
    return settled
  }
}

const onlyTerm = term(noTerm + 1)

const onlyMember: MemberInfo = {
  id: nodeId(1),
  name: 'n1',
  role: 'voter',
  wantedRole: 'voter',
  peerAddress: '127.0.0.1:7443',
  clientAddress: '127.0.0.1:6443',
  version: '0.1.0',
  featureLevel: 1,
  replaces: null,
  addedMs: 0,
}

const configuration: Configuration = {
  voters: [onlyMember.id],
  votersOutgoing: null,
  learners: [],
  learnersNext: [],
  autoLeave: false,
  members: [onlyMember],
}
