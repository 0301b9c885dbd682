import type { Entry, LogIndex } from '../../../raft/index.ts'
import type { LogToRaft, RaftToLog } from '../../../raft/log/log-protocol.ts'
import type { LogStore } from '../../../raft/ports.ts'
import { Finding } from './finding.ts'
import { describe, ShadowLog, termOf } from './shadow-log.ts'
import type { Write } from './shadow-log.ts'

/**
 * Five claims about the logs of all members, checked with every write:
 *
 * - I2 log matching: entries of the same index and term are equal and have equal predecessors
 * - I4 state machine safety: committed entries never change
 * - I3 leader completeness: a leader has everything committed before its term
 * - I5 append only: within a term no member removes an entry of that term, or one committed by then
 * - I5 durability: entries acknowledged by the log are present after any crash; so are term and
 *   vote (I6)
 */
export class LogSafety {
  readonly #onCommitted: (entry: Entry, member: number) => void
  /** By index and term: the entry, and the term before it. */
  readonly #entries = new Map<string, string>()
  readonly #committed: (string | undefined)[] = []
  /** The term of the first member that knew of the commit; at least the term of the commit. */
  readonly #committedIn: number[] = []
  readonly #logs = new Map<number, ShadowLog>()

  /**
   * @param onCommitted called with each entry, in order, when the first member reports it committed
   */
  constructor(onCommitted: (entry: Entry, member: number) => void) {
    this.#onCommitted = onCommitted
  }

  /** The logs of all members, present and former. */
  get logs(): ReadonlyMap<number, ShadowLog> {
    return this.#logs
  }

  /** The newest index that some member knows to be committed. */
  get committedIndex(): number {
    return Math.max(0, this.#committed.length - 1)
  }

  /**
   * Returns a description of the committed entry, equal for equal entries; undefined: not
   * committed.
   */
  committed(index: number): string | undefined {
    return this.#committed[index]
  }

  opened(member: number, store: LogStore): void {
    const before = this.#logs.get(member)
    const log = new ShadowLog()
    const { base, lastIndex, hardState } = store.recovered
    // A repaired log may have lost the record of its beginning: the member then takes the initial
    // members from its options again, those with which it began before.
    const isLost = base.index === 0 && base.configuration.members.length === 0 && lastIndex > 0
    log.begin(isLost ? { ...base, ...before?.beginning } : base, hardState)
    const endless = Number.MAX_SAFE_INTEGER
    while (log.last < lastIndex) {
      for (const entry of store.read((log.last + 1) as LogIndex, lastIndex, endless)) log.put(entry)
    }
    if (before !== undefined) checkDurable(member, before.durable, log)
    log.durable = log.copy()
    this.#logs.set(member, log)
  }

  wrote(member: number, message: RaftToLog): void {
    const log = this.#logs.get(member)
    if (log === undefined) return
    if (message.kind === 'compact') log.underWay.push(message)
    if (message.kind !== 'write') return
    this.#checkKept(member, log, message)
    log.write(message)
    log.underWay.push(message)
    for (const entry of message.entries) this.#match(member, log, entry)
  }

  answered(member: number, message: LogToRaft): void {
    const log = this.#logs.get(member)
    if (log === undefined) return
    if (message.kind !== 'persisted' && message.kind !== 'compacted') return
    for (;;) {
      const next = log.underWay[0]
      if (next === undefined) return
      if (next.kind === 'compact') {
        if (message.kind !== 'compacted') return
        log.durable.compact(next.base)
        log.compact(next.base)
        log.underWay.shift()
        return
      }
      if (message.kind === 'compacted' || next.ticket > message.ticket) return
      log.durable.write(next)
      log.underWay.shift()
    }
  }

  commits(member: number, commit: number): void {
    const log = this.#logs.get(member)
    if (log === undefined) return
    for (let index = Math.max(log.checked, log.base) + 1; index <= commit; index++) {
      const [own, entry] = [log.descriptions.get(index), log.entries.get(index)]
      if (own === undefined || entry === undefined) {
        throw new Finding('I4 state machine safety', `member ${member} committed ${index} without having it`)
      }
      const known = this.#committed[index]
      if (known === undefined) {
        this.#committed[index] = own
        this.#committedIn[index] = log.hardState.term
        this.#onCommitted(entry, member)
      } else if (known !== own) {
        throw new Finding('I4 state machine safety', `${member} committed ${own} at ${index}, not ${known}`)
      }
    }
    log.checked = Math.max(log.checked, commit)
  }

  leads(member: number, term: number): void {
    const log = this.#logs.get(member)
    if (log === undefined) return
    for (let index = log.base + 1; index < this.#committed.length; index++) {
      const known = this.#committed[index]
      // An entry of an old term may be committed late, by a newer leader than this one.
      if (known === undefined || (this.#committedIn[index] ?? term) >= term) continue
      const own = log.descriptions.get(index)
      if (own !== known) {
        const found = `${own ?? 'nothing'} at ${index}, not ${known}`
        throw new Finding('I3 leader completeness', `${member} leads in term ${term} with ${found}`)
      }
    }
  }

  /**
   * A leader only appends, and has everything committed before: within its term no member has to
   * remove an entry of that term, or one that was committed by then.
   */
  #checkKept(member: number, log: ShadowLog, { snapshot, entries, hardState }: Write): void {
    const [first] = entries
    if (first === undefined || snapshot !== null) return
    const { term } = hardState ?? log.hardState
    for (let index: number = first.index; index <= log.last; index++) {
      const had = log.descriptions.get(index)
      if (had === undefined) continue
      const wasCommitted = this.#committed[index] === had && (this.#committedIn[index] ?? Infinity) <= term
      if (termOf(had) !== term && !wasCommitted) continue
      const entry = entries[index - first.index]
      const has = entry === undefined ? 'nothing' : describe(entry)
      if (has !== had) throw new Finding('I5 append only', `${member} drops ${had} at ${index} for ${has}`)
    }
  }

  #match(member: number, log: ShadowLog, entry: Entry): void {
    const previous = log.descriptions.get(entry.index - 1)
    const key = `${entry.index}/${entry.term}`
    const fresh = `${describe(entry)} after ${previous === undefined ? '?' : termOf(previous)}`
    const known = this.#entries.get(key)
    // The member does not know what precedes the base of its log.
    if (known === undefined || known.endsWith('?')) this.#entries.set(key, fresh)
    else if (known !== fresh && previous !== undefined) {
      throw new Finding('I2 log matching', `${member} has ${fresh} at ${key}, another ${known}`)
    }
  }
}

/**
 * Checks that a reopened log has everything that was durable before. A later write that was in
 * progress at the power failure may have survived too, and may have replaced entries.
 */
function checkDurable(member: number, durable: ShadowLog, found: ShadowLog): void {
  const [had, has] = [durable.hardState, found.hardState]
  if (has.term < had.term) {
    throw new Finding('I6 durability', `member ${member} forgot term ${had.term}, has ${has.term}`)
  }
  if (has.term === had.term && had.vote !== null && has.vote !== had.vote) {
    throw new Finding('I6 durability', `member ${member} voted for ${had.vote} in ${had.term}, and forgot it`)
  }
  for (const [index, entry] of durable.descriptions) {
    if (index <= found.base || index <= durable.base) continue
    const own = found.descriptions.get(index)
    if (own === entry) continue
    // Replaced by a later term's entry at or before this index, or by a snapshot that ends in a
    // later term.
    const atBase = durable.descriptions.get(found.base)
    if (atBase !== undefined && found.baseTerm > termOf(atBase)) continue
    let replaced = own !== undefined && termOf(own) > termOf(entry)
    for (let at = index; !replaced && at > found.base; at--) {
      const there = found.descriptions.get(at)
      if (there !== undefined) replaced = termOf(there) > termOf(durable.descriptions.get(at) ?? there)
    }
    if (!replaced) {
      const what = `member ${member} lost ${entry} at ${index}, has ${own ?? 'nothing'} there`
      throw new Finding('I5 durability', what)
    }
  }
}
