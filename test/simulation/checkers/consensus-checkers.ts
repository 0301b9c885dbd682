import { emptyConfiguration } from '../../../raft/index.ts'
import type { Configuration, Entry, PeerMessage } from '../../../raft/index.ts'
import type { LogToRaft, RaftToLog } from '../../../raft/log/log-protocol.ts'
import type { RaftToApi } from '../../../raft/protocol/thread-messages.ts'
import type { LogStore } from '../../../raft/ports.ts'
import { checkCommitDurable, isQuorum } from './commit-quorum.ts'
import { checkConfiguration } from './configurations.ts'
import { ElectionSafety } from './election-safety.ts'
import { Finding } from './finding.ts'
import { LogSafety } from './log-safety.ts'
import { Memberships } from './memberships.ts'
import { DurablePromises } from './durable-promises.ts'
import { ReadIndexes } from './read-index.ts'
import { Reference } from './reference.ts'
import { describe } from './shadow-log.ts'
import type { Placed } from './shadow-log.ts'
import { Truth } from './truth.ts'

/**
 * All checkers of consensus, which check messages as they are sent, and the reference history of
 * the committed entries.
 */
export class ConsensusCheckers {
  readonly truth = new Truth()
  readonly reference = new Reference()
  readonly #elections = new ElectionSafety()
  readonly #reads = new ReadIndexes()
  readonly #logs = new LogSafety((entry, member) => this.#committed(entry, member))
  readonly #promises = new DurablePromises(this.#logs.logs)
  readonly memberships: Memberships

  /** @param founding the configuration that the logs of all founders begin with */
  constructor(founding: Configuration) {
    this.memberships = new Memberships(founding)
  }

  /** Number of distinct leader terms. */
  get leaderTerms(): number {
    return this.#elections.leaderTerms
  }

  /** The committed configuration, and later ones in some log, which may still be committed. */
  get configurations(): readonly Configuration[] {
    const { decided } = this.memberships
    const later = [...this.#logs.logs.values()].flatMap((log) => log.configurations())
    const undecided = later.filter(({ index }) => index > decided.index && index > this.#logs.committedIndex)
    return [decided.configuration, ...undecided.map(({ configuration }) => configuration)]
  }

  /** Checks a message when it is sent. */
  message(message: PeerMessage): void {
    this.#reads.sent(message)
    if (message.kind !== 'core') return
    const { message: core } = message
    if (core.kind === 'append-request' || core.kind === 'heartbeat')
      this.#leads(core.from, core.term, core.commit)
    this.#promises.sent(core)
  }

  opened(member: number, log: LogStore): void {
    this.#logs.opened(member, log)
  }

  toLog(member: number, message: RaftToLog): void {
    if (message.kind === 'write') this.#checkConfigurations(member, message.entries)
    this.#logs.wrote(member, message)
  }

  fromLog(member: number, message: LogToRaft): void {
    this.#logs.answered(member, message)
  }

  toApi(member: number, message: RaftToApi): void {
    if (message.kind === 'committed') this.#logs.commits(member, message.commit)
    if (message.kind === 'removed') {
      const { members } = this.#logs.logs.get(member)?.configuration ?? emptyConfiguration
      const knows = members.length > 0 && !members.some(({ id }) => id === member)
      this.memberships.left(member, message.index, knows)
    }
    if (message.kind === 'status' && message.status.role === 'leader') {
      const { term, commit } = message.status
      this.#leads(member, term, commit)
      this.#promises.leads(member, term)
      this.#logs.leads(member, term)
    }
  }

  /** @param commit a lower bound of its commit index */
  #leads(member: number, term: number, commit: number): void {
    if (!this.#elections.leads(member, term)) return
    this.memberships.leads(member, term, this.#logs.logs.get(member)?.usableConfigurations(commit) ?? [])
  }

  #checkConfigurations(member: number, entries: readonly Entry[]): void {
    const [first] = entries
    const log = this.#logs.logs.get(member)
    if (log === undefined || first === undefined) return
    let before = log.configurationsAt(first.index - 1).at
    for (const entry of entries) {
      if (entry.kind !== 'configuration') continue
      checkConfiguration(member, before, entry, this.#isDecided(before))
      before = entry
    }
  }

  /** A leader may act on its commits before it reports them. */
  #isDecided({ index, term, configuration }: Placed): boolean {
    const { committedIndex, logs } = this.#logs
    if (index <= committedIndex) return true
    const description = describe({ kind: 'configuration', index, term, configuration })
    return isQuorum(configuration, (voter) => logs.get(voter)?.durable.holds(index, description) === true)
  }

  #committed(entry: Entry, member: number): void {
    checkCommitDurable(this.#logs.logs, member, { index: entry.index, description: describe(entry) })
    this.#reads.committed(entry)
    this.memberships.committed(entry)
    this.truth.committed(entry)
    this.reference.committed(entry)
    checkStorage(entry, this.truth, this.reference)
  }
}

/**
 * Checks that every outcome follows the storage rules: a refused command left no version, and sizes
 * are counted correctly.
 */
function checkStorage({ index }: Entry, { storage, revision }: Truth, reference: Reference): void {
  const { level, usedBytes, alarm } = storage
  const [right, found] = [{ level, usedBytes, alarm, revision }, reference.storage].map((one) =>
    JSON.stringify(one),
  )
  if (right !== found)
    throw new Finding('storage rules', `after index ${index} the state is ${found}, not ${right}`)
}
