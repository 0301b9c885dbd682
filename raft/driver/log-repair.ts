import type { Clock, Timer } from '../../base/clock.ts'
import { entryBytes, logIndex } from '../core/types.ts'
import type { Entry, LogIndex, NodeId } from '../core/types.ts'
import type { EntryId } from '../log/intact-run.ts'
import { checkFetched } from '../log/plan-repair.ts'
import type { PeerMessage } from '../ports.ts'
import { alteredIn } from '../protocol/command-checksum-guard.ts'

/** The part of the raft actor that a repair uses, and the entries to fetch. */
export type LogRepairOptions = {
  readonly self: NodeId
  /** The other members: from the damaged log, the database or the options. */
  readonly peers: readonly NodeId[]
  /** The first missing entry. */
  readonly first: LogIndex
  /**
   * The last entry to fetch. This log knows its term, so a peer that has committed an entry of this
   * index and term has the same entries before it.
   */
  readonly anchor: EntryId
  readonly clock: Clock
  readonly send: (message: PeerMessage) => void
  /** Closes the link of a peer that sent something impossible. */
  readonly refusePeer: (peer: NodeId, violation: string) => void
  /** Called once, with all entries from `first` to the anchor. */
  readonly done: (entries: readonly Entry[]) => void
  /**
   * Called once when the entries cannot be fetched.
   *
   * @param reason continues a sentence: "it cannot be repaired, as ..."
   */
  readonly refuse: (reason: string) => void
  /** Reports one line to the operator. */
  readonly notice: (line: string) => void
}

/** Time in ms without a message from the peer that was asked, after which the next one is asked. */
const answerMsMax = 1000
const noticePeriodMs = 60_000
/** Limit of the missing part of a log in bytes; it is held in memory until it is complete. */
export const missingBytesMax = 64 * 1024 * 1024

/**
 * Fetches the missing entries of a damaged log from one peer after the other. Until the log is
 * repaired this member has no core: it does not vote, acknowledge or campaign. Peers send only
 * committed entries.
 */
export class LogRepair {
  readonly #options: LogRepairOptions
  readonly #timer: Timer
  /** Peers that cannot provide the entries: they compacted them, or sent others. */
  readonly #unusable = new Set<NodeId>()
  /** The entries received from the current peer. */
  #entries: Entry[] = []
  #bytes = 0
  #asked: NodeId | null = null
  #answeredMs: number
  #noticedMs: number
  #over = false

  constructor(options: LogRepairOptions) {
    this.#options = options
    this.#answeredMs = options.clock.monotonicMs()
    this.#noticedMs = this.#answeredMs
    this.#timer = options.clock.every(answerMsMax, () => this.#tick())
    options.clock.soon(() => this.#askNext())
  }

  receive(message: PeerMessage): void {
    if (this.#over || message.kind !== 'entries-sent' || message.from !== this.#asked) return
    if (message.to !== this.#options.self || message.first !== this.#next) return
    const { entries } = message
    if (entries.length === 0) return this.#skipPeer(message.from, 'has compacted them')
    this.#answeredMs = this.#options.clock.monotonicMs()
    for (const entry of entries) this.#bytes += entryBytes(entry)
    if (this.#bytes > missingBytesMax) return this.#refuse(`more than ${missingBytesMax} bytes are missing`)
    this.#entries.push(...entries)
    const { first, anchor } = this.#options
    if (this.#next <= anchor.index && entries.at(-1)?.index === this.#next - 1) return this.#ask()
    const altered = alteredIn(this.#entries)
    const wrong =
      altered === null ? checkFetched(anchor, first, this.#entries) : `entry ${altered} was altered`
    if (wrong !== null) {
      this.#options.refusePeer(message.from, wrong)
      return this.#skipPeer(message.from, `sent what is not in this log: ${wrong}`)
    }
    this.close()
    this.#options.done(this.#entries)
  }

  close(): void {
    this.#over = true
    this.#timer.cancel()
  }

  get #next(): LogIndex {
    return logIndex(this.#options.first + this.#entries.length)
  }

  #tick(): void {
    const now = this.#options.clock.monotonicMs()
    if (now - this.#noticedMs >= noticePeriodMs) {
      this.#noticedMs = now
      this.#options.notice(
        `${this.#wanted} are needed to repair the log, and no other member that has them responds`,
      )
    }
    if (now - this.#answeredMs >= answerMsMax) this.#askNext()
  }

  #askNext(): void {
    if (this.#over) return
    const peers = this.#options.peers.filter((peer) => !this.#unusable.has(peer))
    const at = this.#asked === null ? -1 : peers.indexOf(this.#asked)
    const peer = peers[(at + 1) % Math.max(1, peers.length)]
    if (peer === undefined) return this.#refuse(`no other member has ${this.#wanted} any more`)
    this.#asked = peer
    this.#entries = []
    this.#bytes = 0
    this.#ask()
  }

  #ask(): void {
    const { self, anchor } = this.#options
    if (this.#asked === null) return
    this.#answeredMs = this.#options.clock.monotonicMs()
    this.#options.send({
      kind: 'entries-wanted',
      from: self,
      to: this.#asked,
      first: this.#next,
      last: anchor.index,
    })
  }

  #skipPeer(peer: NodeId, reason: string): void {
    this.#options.notice(`${this.#wanted} are needed to repair the log, and member ${peer} ${reason}`)
    this.#unusable.add(peer)
    this.#askNext()
  }

  #refuse(reason: string): void {
    if (this.#over) return
    this.close()
    this.#options.refuse(reason)
  }

  get #wanted(): string {
    return `entries ${this.#options.first} to ${this.#options.anchor.index}`
  }
}
