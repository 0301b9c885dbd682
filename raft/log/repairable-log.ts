import { present } from '../../base/assert.ts'
import { logIndex } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogDisk, LogFile } from '../ports.ts'
import type { EntryPlace } from './entry-index.ts'
import { damaged, LogError, replaceMember } from './errors.ts'
import { decodeRecord } from './group-decoder.ts'
import { segmentName, segmentNumber } from './layout.ts'
import type { DamageSummary } from './log-protocol.ts'
import { checkFetched, planLogRepair } from './plan-repair.ts'
import type { LogRepairPlan, LogDamage } from './plan-repair.ts'
import { lastRun } from './recover.ts'
import { rewriteLog } from './rewrite.ts'
import { salvage } from './salvage.ts'
import type { Salvage } from './salvage.ts'
import type { LogOwner } from './segment.ts'
import type { IntactRun } from './intact-run.ts'

/** The data for the repair of a log. */
export type LogRepair = {
  /** The snapshot metadata of this member's database; null: not known. */
  readonly covered: SnapshotMeta | null
  /** Entries of a peer, from the first missing one to the anchor; empty: not fetched. */
  readonly entries: readonly Entry[]
}

/**
 * A log that recovery refused, with enough intact parts to know what is missing. It cannot be
 * appended to.
 */
export class RepairableLog {
  readonly damage: LogDamage
  /** The error with which recovery refused the log. */
  readonly cause: LogError
  readonly #disk: LogDisk
  readonly #owner: LogOwner
  readonly #salvage: Salvage
  readonly #lastSegment: number

  /**
   * Examines a log that recovery refused.
   *
   * @returns null when it is not known what is missing, so that the log cannot be repaired
   */
  static find(disk: LogDisk, owner: LogOwner, cause: LogError): RepairableLog | null {
    if (cause.code !== 'damaged' && cause.code !== 'missing-segment') return null
    const numbers = disk
      .list()
      .map(segmentNumber)
      .filter((number) => number !== null)
      .sort((a, b) => a - b)
    if (numbers.length === 0) return null
    try {
      const found = salvage(disk, owner, lastRun(numbers))
      const damage = found === null ? null : damageOf(disk, found)
      if (found === null || damage === null) return null
      const lastSegment = present(numbers.at(-1), 'there is a segment')
      return new RepairableLog({ disk, owner, cause, found, damage, lastSegment })
    } catch (other) {
      // The log is refused with the first error that was found.
      if (other instanceof LogError && other.code !== 'io') return null
      throw other
    }
  }

  private constructor(options: {
    readonly disk: LogDisk
    readonly owner: LogOwner
    readonly cause: LogError
    readonly found: Salvage
    readonly damage: LogDamage
    readonly lastSegment: number
  }) {
    this.#disk = options.disk
    this.#owner = options.owner
    this.cause = options.cause
    this.#salvage = options.found
    this.damage = options.damage
    this.#lastSegment = options.lastSegment
  }

  plan(covered: SnapshotMeta | null): LogRepairPlan {
    return planLogRepair(this.damage, covered)
  }

  /**
   * Rewrites the log, so that recovery finds it intact. A crash leaves it either unchanged or
   * repaired.
   *
   * @returns one line that describes the repair
   * @throws LogError why the log is refused, when the repair is not sufficient; `io`, `disk-full`
   */
  repair({ covered, entries }: LogRepair): string {
    const plan = this.plan(covered)
    if (plan.kind === 'refuse') throw this.refusal(plan.reason)
    const { damage } = this
    let fetched: readonly Entry[] = []
    if (plan.kind === 'fetch') {
      const wrong = checkFetched(damage.anchor, plan.first, entries)
      if (wrong !== null) throw this.refusal(wrong)
      fetched = entries.slice(0, damage.first - plan.first)
    }
    this.#checkCovered(plan.base)
    rewriteLog(this.#disk, {
      logId: this.#salvage.logId,
      owner: this.#owner,
      lastSegment: this.#lastSegment,
      sequence: Math.max(this.#salvage.after.sequence, this.#salvage.before?.sequence ?? 0),
      base: plan.base,
      hardState: damage.hardState,
      entries: this.#entries(plan.base, fetched),
    })
    const source =
      plan.kind === 'fetch'
        ? `entries ${plan.first} to ${damage.first - 1} came from a peer`
        : `no entry above ${plan.base.index}, which the state contains, was lost`
    return `repaired: ${this.finding}; ${source}; the log was rewritten`
  }

  get summary(): DamageSummary {
    const { damage, cause } = this
    return {
      base: damage.base,
      lastIndex: damage.last.index,
      configuration: damage.configuration,
      logId: Buffer.from(this.#salvage.logId).toString('hex'),
      refusal: cause.message,
    }
  }

  /** The damage, without the remedy. */
  get finding(): string {
    return this.cause.message.replace(`; ${replaceMember}`, '')
  }

  refusal(reason: string): LogError {
    return new LogError(
      this.cause.code,
      `${this.finding}; it cannot be repaired, as ${reason}; ${replaceMember}`,
    )
  }

  /** Refuses a database whose last entry differs from the entry of the log at that index. */
  #checkCovered(base: SnapshotMeta): void {
    const { after } = this.#salvage
    if (base.index < this.damage.first || after.index?.has(base.index) !== true) return
    const { term } = entryAt(this.#disk, after, base.index)
    if (term !== base.term) throw this.refusal('the database holds another entry than the log')
  }

  *#entries(base: SnapshotMeta, fetched: readonly Entry[]): Generator<Entry> {
    const { damage } = this
    const { before, after } = this.#salvage
    const fetchedFirst = fetched[0]?.index ?? damage.first
    if (before !== null) yield* readEntries(this.#disk, before, logIndex(base.index + 1), fetchedFirst - 1)
    yield* fetched
    const first = logIndex(Math.max(base.index + 1, damage.first))
    yield* readEntries(this.#disk, after, first, damage.last.index)
  }
}

function damageOf(disk: LogDisk, { before, after }: Salvage): LogDamage | null {
  const base = after.base ?? before?.base ?? null
  const { hardState, last, index } = after
  if (base === null || hardState === null || last === null || index === null) return null
  const { first } = index
  const hasEntries = first <= last.index
  const anchor = hasEntries ? entryAt(disk, after, first) : last
  const committed = Math.min(before?.last?.index ?? 0, before?.hardState?.commit ?? 0, first - 1)
  return {
    base,
    knownFirst: before?.index?.first ?? logIndex(first),
    known: logIndex(Math.max(committed, 0)),
    first,
    anchor: { index: anchor.index, term: anchor.term },
    last,
    hardState,
    configuration: after.configuration ?? before?.configuration ?? base.configuration,
  }
}

function entryAt(disk: LogDisk, run: IntactRun, index: LogIndex): Entry {
  const [entry] = [...readEntries(disk, run, index, index)]
  return present(entry, 'the run has the entry')
}

/**
 * Reads the entries of a run, with one file open at a time.
 *
 * @throws LogError
 */
function* readEntries(disk: LogDisk, { index }: IntactRun, from: LogIndex, to: number): Generator<Entry> {
  let open = null as { readonly number: number; readonly file: LogFile } | null
  try {
    for (let next = from; next <= to; next = logIndex(next + 1)) {
      const place = present(index, 'the run has entries').place(next)
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
