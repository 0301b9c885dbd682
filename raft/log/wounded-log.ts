import { present } from '../../base/assert.ts'
import { logIndex } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogDisk, LogFile } from '../ports.ts'
import type { EntryPlace } from './entry-index.ts'
import { damaged, LogFailure, replaceMember } from './errors.ts'
import { decodeRecord } from './group-decoder.ts'
import { segmentName, segmentNumber } from './layout.ts'
import type { WoundedSummary } from './log-protocol.ts'
import { judgeFetched, planLogRepair } from './plan-repair.ts'
import type { LogRepairPlan, Wound } from './plan-repair.ts'
import { lastRun } from './recover.ts'
import { rewriteLog } from './rewrite.ts'
import { salvage } from './salvage.ts'
import type { Salvage } from './salvage.ts'
import type { LogOwner } from './segment.ts'
import type { Stretch } from './stretch.ts'

/** What is given to repair a log. */
export type LogRepair = {
  /** What this member's own database durably holds; null: not known. */
  readonly covered: SnapshotMeta | null
  /** Of a peer: from the first missing one to the anchor. */
  readonly entries: readonly Entry[]
}

/**
 * A log that recovery refused, and of which enough is intact to know what is missing. Nothing may
 * be appended to it.
 */
export class WoundedLog {
  readonly wound: Wound
  /** The refusal, in one line. */
  readonly cause: LogFailure
  readonly #disk: LogDisk
  readonly #owner: LogOwner
  readonly #salvage: Salvage
  readonly #lastSegment: number

  /** @returns null when what is missing cannot be told: the refusal stands */
  static find(disk: LogDisk, owner: LogOwner, cause: LogFailure): WoundedLog | null {
    if (cause.code !== 'damaged' && cause.code !== 'missing-segment') return null
    const numbers = disk
      .list()
      .map(segmentNumber)
      .filter((number) => number !== null)
      .sort((a, b) => a - b)
    if (numbers.length === 0) return null
    try {
      const found = salvage(disk, owner, lastRun(numbers))
      const wound = found === null ? null : woundOf(disk, found)
      if (found === null || wound === null) return null
      const lastSegment = present(numbers.at(-1), 'there is a segment')
      return new WoundedLog({ disk, owner, cause, found, wound, lastSegment })
    } catch (other) {
      // What else is wrong with it says less than the first finding.
      if (other instanceof LogFailure && other.code !== 'io') return null
      throw other
    }
  }

  private constructor(parts: {
    readonly disk: LogDisk
    readonly owner: LogOwner
    readonly cause: LogFailure
    readonly found: Salvage
    readonly wound: Wound
    readonly lastSegment: number
  }) {
    this.#disk = parts.disk
    this.#owner = parts.owner
    this.cause = parts.cause
    this.#salvage = parts.found
    this.wound = parts.wound
    this.#lastSegment = parts.lastSegment
  }

  plan(covered: SnapshotMeta | null): LogRepairPlan {
    return planLogRepair(this.wound, covered)
  }

  /**
   * Writes the log anew, so that recovery finds it whole. A crash leaves it as it was or repaired.
   *
   * @returns one line on what was done
   * @throws LogFailure the refusal, when what is given does not suffice; `io`, `disk-full`
   */
  repair({ covered, entries }: LogRepair): string {
    const plan = this.plan(covered)
    if (plan.kind === 'refuse') throw this.refusal(plan.why)
    const { wound } = this
    let fetched: readonly Entry[] = []
    if (plan.kind === 'fetch') {
      const wrong = judgeFetched(wound.anchor, plan.first, entries)
      if (wrong !== null) throw this.refusal(wrong)
      fetched = entries.slice(0, wound.first - plan.first)
    }
    this.#checkCovered(plan.base)
    rewriteLog(this.#disk, {
      logId: this.#salvage.logId,
      owner: this.#owner,
      lastSegment: this.#lastSegment,
      sequence: Math.max(this.#salvage.behind.sequence, this.#salvage.before?.sequence ?? 0),
      base: plan.base,
      hardState: wound.hardState,
      entries: this.#entries(plan.base, fetched),
    })
    const source =
      plan.kind === 'fetch'
        ? `entries ${plan.first} to ${wound.first - 1} came from a peer`
        : `no entry above ${plan.base.index}, which the state holds, was lost`
    return `repaired: ${this.finding}; ${source}; the log was written anew`
  }

  get summary(): WoundedSummary {
    const { wound, cause } = this
    return {
      base: wound.base,
      lastIndex: wound.last.index,
      configuration: wound.configuration,
      logId: Buffer.from(this.#salvage.logId).toString('hex'),
      refusal: cause.message,
    }
  }

  /** What is wrong with it, without the remedy. */
  get finding(): string {
    return this.cause.message.replace(`; ${replaceMember}`, '')
  }

  refusal(why: string): LogFailure {
    return new LogFailure(
      this.cause.code,
      `${this.finding}; it cannot be repaired, as ${why}; ${replaceMember}`,
    )
  }

  /** A database of another history than the log's says nothing about it. */
  #checkCovered(base: SnapshotMeta): void {
    const { behind } = this.#salvage
    if (base.index < this.wound.first || behind.index?.has(base.index) !== true) return
    const { term } = entryAt(this.#disk, behind, base.index)
    if (term !== base.term) throw this.refusal('the database holds another entry than the log')
  }

  *#entries(base: SnapshotMeta, fetched: readonly Entry[]): Generator<Entry> {
    const { wound } = this
    const { before, behind } = this.#salvage
    const fetchedFirst = fetched[0]?.index ?? wound.first
    if (before !== null) yield* readEntries(this.#disk, before, logIndex(base.index + 1), fetchedFirst - 1)
    yield* fetched
    const first = logIndex(Math.max(base.index + 1, wound.first))
    yield* readEntries(this.#disk, behind, first, wound.last.index)
  }
}

function woundOf(disk: LogDisk, { before, behind }: Salvage): Wound | null {
  const base = behind.base ?? before?.base ?? null
  const { hardState, last, index } = behind
  if (base === null || hardState === null || last === null || index === null) return null
  const { first } = index
  const hasEntries = first <= last.index
  const anchor = hasEntries ? entryAt(disk, behind, first) : last
  const committed = Math.min(before?.last?.index ?? 0, before?.hardState?.commit ?? 0, first - 1)
  return {
    base,
    knownFirst: before?.index?.first ?? logIndex(first),
    known: logIndex(Math.max(committed, 0)),
    first,
    anchor: { index: anchor.index, term: anchor.term },
    last,
    hardState,
    configuration: behind.configuration ?? before?.configuration ?? base.configuration,
  }
}

function entryAt(disk: LogDisk, stretch: Stretch, index: LogIndex): Entry {
  const [entry] = [...readEntries(disk, stretch, index, index)]
  return present(entry, 'the stretch has the entry')
}

/** Entries of a stretch, a file open at a time. @throws LogFailure */
function* readEntries(disk: LogDisk, { index }: Stretch, from: LogIndex, to: number): Generator<Entry> {
  let open = null as { readonly number: number; readonly file: LogFile } | null
  try {
    for (let next = from; next <= to; next = logIndex(next + 1)) {
      const place = present(index, 'the stretch has entries').place(next)
      if (open?.number !== place.segment) {
        open?.file.close()
        open = { number: place.segment, file: disk.open(segmentName(place.segment), 'existing') }
      }
      yield readEntry(open.file, place, next)
    }
  } finally {
    open?.file.close()
  }
}

function readEntry(file: LogFile, { segment, offset, length, seed }: EntryPlace, index: LogIndex): Entry {
  const bytes = file.read(offset, length)
  const record = decodeRecord(bytes, 0, bytes.length, seed)?.record
  if (record?.kind !== 'entry' || record.entry.index !== index) {
    throw damaged(segmentName(segment), offset, `entry ${index} is not as it was written`)
  }
  return record.entry
}
