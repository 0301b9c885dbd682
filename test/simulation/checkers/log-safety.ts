import { BrokenInvariant } from '../../../raft/base/assert.ts'
import { decodeEnvelope } from '../../../raft/index.ts'
import type { Entry, LogIndex } from '../../../raft/index.ts'
import type { LogToRaft, RaftToLog } from '../../../raft/log/log-protocol.ts'
import type { LogStore } from '../../../raft/ports.ts'

type Write = Extract<RaftToLog, { kind: 'write' }>

/**
 * Four claims about the logs of all members, checked with every write:
 *
 * - log matching: same index and term, same entry and same past
 * - committed entries never change
 * - leader completeness: whoever leads has everything committed before
 * - durability: what the log said is durable is there after any crash
 */
export class LogSafety {
  /** By index and term: the entry, and the term before it. */
  readonly #entries = new Map<string, string>()
  readonly #committed: (string | undefined)[] = []
  /** The term of whoever first knew of it; at least the one it was committed in. */
  readonly #committedIn: number[] = []
  readonly #logs = new Map<number, ShadowLog>()

  get committedCount(): number {
    return this.#committed.length
  }

  opened(member: number, store: LogStore): void {
    const before = this.#logs.get(member)
    const log = new ShadowLog()
    const { base, lastIndex, hardState } = store.recovered
    log.base = base.index
    log.baseTerm = base.term
    log.term = hardState.term
    log.last = base.index
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
    if (message.kind === 'cut') log.underWay.push(message)
    if (message.kind !== 'write') return
    log.write(message)
    log.underWay.push(message)
    for (const entry of message.entries) this.#match(member, log, entry)
  }

  answered(member: number, message: LogToRaft): void {
    const log = this.#logs.get(member)
    if (log === undefined) return
    if (message.kind !== 'persisted' && message.kind !== 'cut-done') return
    for (;;) {
      const next = log.underWay[0]
      if (next === undefined) return
      if (next.kind === 'cut') {
        if (message.kind !== 'cut-done') return
        log.durable.base = Math.max(log.durable.base, next.base.index)
        log.base = Math.max(log.base, next.base.index)
        log.underWay.shift()
        return
      }
      if (message.kind === 'cut-done' || next.ticket > message.ticket) return
      log.durable.write(next)
      log.underWay.shift()
    }
  }

  commits(member: number, commit: number): void {
    const log = this.#logs.get(member)
    if (log === undefined) return
    for (let index = Math.max(log.checked, log.base) + 1; index <= commit; index++) {
      const own = log.entries.get(index)
      if (own === undefined)
        throw new BrokenInvariant(`member ${member} committed ${index} without having it`)
      const known = this.#committed[index]
      if (known === undefined) {
        this.#committed[index] = own
        this.#committedIn[index] = log.term
      } else if (known !== own) {
        throw new BrokenInvariant(
          `state machine safety: ${member} committed ${own} at ${index}, not ${known}`,
        )
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
      const own = log.entries.get(index)
      if (own !== known) {
        const found = `${own ?? 'nothing'} at ${index}, not ${known}`
        throw new BrokenInvariant(`leader completeness: ${member} leads in term ${term} with ${found}`)
      }
    }
  }

  #match(member: number, log: ShadowLog, entry: Entry): void {
    const previous = log.entries.get(entry.index - 1)
    const key = `${entry.index}/${entry.term}`
    const fresh = `${describe(entry)} after ${previous === undefined ? '?' : termOf(previous)}`
    const known = this.#entries.get(key)
    // What lies before a log's base is not known to that member any more.
    if (known === undefined || known.endsWith('?')) this.#entries.set(key, fresh)
    else if (known !== fresh && previous !== undefined) {
      throw new BrokenInvariant(`log matching: ${member} has ${fresh} at ${key}, another ${known}`)
    }
  }
}

class ShadowLog {
  base = 0
  /** Only of a log just opened. */
  baseTerm = 0
  last = 0
  term = 0
  /** Up to here its commits were compared. */
  checked = 0
  readonly entries = new Map<number, string>()
  /** The same, but only what was said to be durable. */
  durable: ShadowLog = this
  readonly underWay: (Write | Extract<RaftToLog, { kind: 'cut' }>)[] = []

  put(entry: Entry): void {
    for (let index = entry.index; index <= this.last; index++) this.entries.delete(index)
    this.entries.set(entry.index, describe(entry))
    this.last = entry.index
  }

  write(write: Write): void {
    if (write.snapshot !== null) {
      this.entries.clear()
      this.base = write.snapshot.index
      this.last = this.base
    }
    for (const entry of write.entries) this.put(entry)
    if (write.hardState !== null) this.term = write.hardState.term
  }

  copy(): ShadowLog {
    const copy = new ShadowLog()
    copy.base = this.base
    copy.last = this.last
    copy.term = this.term
    for (const [index, entry] of this.entries) copy.entries.set(index, entry)
    return copy
  }
}

/** A later write that was under way when the power went may be there too, and may have replaced entries. */
function checkDurable(member: number, durable: ShadowLog, found: ShadowLog): void {
  if (found.term < durable.term) {
    throw new BrokenInvariant(`durability: member ${member} forgot term ${durable.term}, has ${found.term}`)
  }
  for (const [index, entry] of durable.entries) {
    if (index <= found.base || index <= durable.base) continue
    const own = found.entries.get(index)
    if (own === entry) continue
    // Replaced by a later term's entry at or before this index, or by a state that ends in a later term.
    const atBase = durable.entries.get(found.base)
    if (atBase !== undefined && found.baseTerm > termOf(atBase)) continue
    let replaced = own !== undefined && termOf(own) > termOf(entry)
    for (let at = index; !replaced && at > found.base; at--) {
      const there = found.entries.get(at)
      if (there !== undefined) replaced = termOf(there) > termOf(durable.entries.get(at) ?? there)
    }
    if (!replaced) {
      throw new BrokenInvariant(
        `durability: member ${member} lost ${entry} at ${index}, has ${own ?? 'nothing'} there`,
      )
    }
  }
}

function describe(entry: Entry): string {
  if (entry.kind !== 'command') return `${entry.term}:${entry.kind}`
  const { session, sequence, expectedTerm, payload } = decodeEnvelope(entry.data)
  let hash = 0x811c9dc5
  for (const byte of payload) hash = Math.imul(hash ^ byte, 0x01000193)
  return `${entry.term}:${session}.${sequence}@${expectedTerm}#${hash >>> 0}`
}

function termOf(entry: string): number {
  return Number(entry.slice(0, entry.indexOf(':')))
}
