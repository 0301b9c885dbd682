import type { Entry, PeerMessage } from '../../../raft/index.ts'
import type { LogToRaft, RaftToLog } from '../../../raft/log/log-protocol.ts'
import type { RaftToApi } from '../../../raft/node/protocol.ts'
import type { LogStore } from '../../../raft/ports.ts'
import { checkCommitDurable } from './commit-quorum.ts'
import { checkConfiguration } from './configurations.ts'
import { ElectionSafety } from './election-safety.ts'
import { Finding } from './finding.ts'
import { LogSafety } from './log-safety.ts'
import { Promises } from './promises.ts'
import { ReadIndexes } from './read-index.ts'
import { Reference } from './reference.ts'
import { describe } from './shadow-log.ts'
import { Truth } from './truth.ts'

/** Everything that is claimed of the consensus, judged as messages pass, and the true history that comes of it. */
export class Consensual {
  readonly truth = new Truth()
  readonly reference = new Reference()
  readonly #elections = new ElectionSafety()
  readonly #reads = new ReadIndexes()
  readonly #logs = new LogSafety((entry, member) => this.#committed(entry, member))
  readonly #promises = new Promises(this.#logs.logs)

  /** Distinct reigns seen. */
  get reigns(): number {
    return this.#elections.reigns
  }

  /** As it is sent. */
  message(message: PeerMessage): void {
    this.#reads.sent(message)
    if (message.kind !== 'core') return
    const { kind, from, term } = message.message
    if (kind === 'append-request' || kind === 'heartbeat') this.#elections.leads(from, term)
    this.#promises.sent(message.message)
  }

  opened(member: number, log: LogStore): void {
    this.#logs.opened(member, log)
  }

  toLog(member: number, message: RaftToLog): void {
    const log = this.#logs.logs.get(member)
    if (message.kind === 'write' && log !== undefined) {
      for (const entry of message.entries) {
        if (entry.kind === 'configuration') checkConfiguration(member, log, entry, this.#logs.committedIndex)
      }
    }
    this.#logs.wrote(member, message)
  }

  fromLog(member: number, message: LogToRaft): void {
    this.#logs.answered(member, message)
  }

  toApi(member: number, message: RaftToApi): void {
    if (message.kind === 'committed') this.#logs.commits(member, message.commit)
    if (message.kind === 'status' && message.status.role === 'leader') {
      this.#elections.leads(member, message.status.term)
      this.#promises.leads(member, message.status.term)
      this.#logs.leads(member, message.status.term)
    }
  }

  #committed(entry: Entry, member: number): void {
    checkCommitDurable(this.#logs.logs, member, { index: entry.index, description: describe(entry) })
    this.#reads.committed(entry)
    this.truth.committed(entry)
    this.reference.committed(entry)
    checkStorage(entry, this.truth, this.reference)
  }
}

/** Every outcome is the one that the rules say: what was refused left no version, and what it holds is counted right. */
function checkStorage({ index }: Entry, { storage, revision }: Truth, reference: Reference): void {
  const { level, usedBytes, alarm } = storage
  const [right, found] = [{ level, usedBytes, alarm, revision }, reference.storage].map((one) =>
    JSON.stringify(one),
  )
  if (right !== found)
    throw new Finding('storage rules', `behind index ${index} there is ${found}, not ${right}`)
}
