import { assert, present } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { entryBytes, logIndex } from '../core/types.ts'
import type { Entry, HardState, LogIndex, NodeId, SnapshotMeta } from '../core/types.ts'
import type { LogDisk, LogStore, LogWrite, RecoveredLog } from '../ports.ts'
import { createLog, fillHead } from './create-log.ts'
import { writeEndMark } from './end-mark.ts'
import { writeZerosAhead } from './zeros-ahead.ts'
import type { EntryIndex } from './entry-index.ts'
import type { EntryPlace } from './entry-index.ts'
import { placesFrom, readRun } from './entry-reader.ts'
import { damaged, LogError } from './errors.ts'
import { GroupEncoder } from './group-encoder.ts'
import type { PlacedEntry } from './group-encoder.ts'
import { preambleBytes } from './layout.ts'
import type { LogSize } from './log-protocol.ts'
import type { LogShape } from './log-shape.ts'
import { recover } from './recover.ts'
import type { RecoveredFiles } from './recover.ts'
import { rewriteLog } from './rewrite.ts'
import { scrubTurn } from './scrub.ts'
import type { ScrubbedSegment, ScrubPlace, ScrubTurn } from './scrub.ts'
import { createSegment, encodePreamble } from './segment.ts'
import type { LogOwner, Segment } from './segment.ts'
import { RepairableLog } from './repairable-log.ts'
import type { LogRepair } from './repairable-log.ts'

export type WalOptions = {
  readonly disk: LogDisk
  /** Draws the ID of a new log, by which segments of another log are recognized. */
  readonly random: Random
  /** The member that the log belongs to: a log of another member is refused. Unset: not checked. */
  readonly owner?: NodeId
  /**
   * Limit of a segment: a write that would exceed it starts a new segment; one write may be larger.
   * At most 1024 MiB.
   */
  readonly segmentBytes?: number
  /** Zeros that `prepare` writes ahead, so that a sync need not make a new file length durable. */
  readonly aheadBytes?: number
}

const MiB = 1024 * 1024
const nothingGiven: LogRepair = { covered: null, entries: [] }

/** The log on disk; see `layout.ts` for its format. */
export class Wal implements LogStore {
  readonly recovered: RecoveredLog
  readonly #disk: LogDisk
  readonly #segmentBytes: number
  readonly #aheadBytes: number
  /** The disk was full when zeros were written ahead; the next try follows a compaction. */
  #noSpaceAhead = false
  readonly #zeros: Uint8Array
  readonly #owner: LogOwner
  readonly #encoder = new GroupEncoder()
  readonly #logId: Uint8Array
  #shape: LogShape
  #index: EntryIndex
  #segments: Segment[]
  #chain: number
  #sequence: number
  /** A trim in progress: the entries up to `through` are in segments before `firstSegment` only. */
  #trimming: { readonly through: LogIndex; readonly firstSegment: number } | null = null
  #dead = false
  #closed = false

  /** @throws LogError */
  static open(options: WalOptions): Wal {
    return new Wal(options, recover(options.disk, options.owner ?? null) ?? createLog(options))
  }

  /**
   * Opens a log, and repairs it if no entry is missing. If the repair needs the database or entries
   * of peers, returns the intact parts instead, and the log stays closed.
   *
   * @throws LogError
   */
  static openOrSalvage(options: WalOptions): Wal | RepairableLog {
    try {
      return Wal.open(options)
    } catch (cause) {
      const damaged =
        cause instanceof LogError ? RepairableLog.find(options.disk, options.owner ?? null, cause) : null
      if (damaged === null) throw cause
      return damaged.plan(null).kind === 'rewrite' ? Wal.openRepaired(options, damaged) : damaged
    }
  }

  /**
   * Repairs a damaged log and opens it.
   *
   * @throws LogError when the repair is not sufficient
   */
  static openRepaired(options: WalOptions, damaged: RepairableLog, repair: LogRepair = nothingGiven): Wal {
    const repaired = damaged.repair(repair)
    const files = recover(options.disk, options.owner ?? null)
    return new Wal(options, { ...present(files, 'a repaired log is there'), repaired })
  }

  private constructor(options: WalOptions, files: RecoveredFiles) {
    this.#disk = options.disk
    this.#owner = options.owner ?? null
    this.#segmentBytes = options.segmentBytes ?? 64 * MiB
    this.#aheadBytes = options.aheadBytes ?? 4 * MiB
    assert(this.#segmentBytes <= 1024 * MiB, 'a place in a segment fits 32 bits')
    this.#zeros = new Uint8Array(this.#aheadBytes)
    this.#logId = files.logId
    this.#shape = files.shape
    this.#index = files.index
    this.#segments = files.segments
    this.#chain = files.chain
    this.#sequence = files.sequence
    this.recovered = this.#shape.describe({
      logId: Buffer.from(files.logId).toString('hex'),
      bytes: this.#index.bytes,
      repaired: files.repaired,
    })
    this.#guard(() => this.#removeUnneeded())
  }

  /** The last index of the current log. */
  get lastIndex(): LogIndex {
    return this.#shape.lastIndex
  }

  get size(): LogSize {
    const bytes = this.#segments.reduce((sum, segment) => sum + segment.size, 0)
    return { segments: this.#segments.length, bytes }
  }

  append(writes: readonly LogWrite[]): void {
    this.#guard(() => {
      this.#startSegmentIfFull(writes)
      const { placed, segment, offset } = this.#commit((encoder) => {
        for (const write of writes) encoder.write(write)
      })
      let at = 0
      for (const write of writes) {
        if (write.snapshot !== null) this.#reset(write.snapshot)
        for (const entry of write.entries) {
          this.#shape.put(entry)
          this.#index.put(entry.index, place(segment, offset, placed[at++] as PlacedEntry))
        }
        if (write.hardState !== null) this.#shape.setHardState(write.hardState)
      }
      if (writes.some((write) => write.snapshot !== null)) this.#removeUnneeded()
    })
  }

  read(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] {
    assert(from <= to, 'a read ends at or after its start')
    assert(!this.#closed, 'the log is open')
    if (from <= this.#shape.base.index) {
      throw new LogError(
        'compacted',
        `entry ${from} was compacted, the log begins after ${this.#shape.base.index}`,
      )
    }
    if (from > this.#shape.lastIndex) {
      throw new LogError('missing', `entry ${from} is not in the log, which ends at ${this.#shape.lastIndex}`)
    }
    const end = Math.min(to, this.#shape.lastIndex)
    const entries: Entry[] = []
    let left = bytesMax
    for (let next: number = from; next <= end;) {
      const run = placesFrom(this.#index, logIndex(next), end, left)
      for (const entry of readRun(this.#segments, logIndex(next), run)) {
        left -= entryBytes(entry)
        if (left < 0 && entries.length > 0) return entries
        entries.push(entry)
        next++
      }
    }
    return entries
  }

  compact(base: SnapshotMeta): void {
    if (base.index <= this.#shape.base.index) return
    assert(base.index <= this.#shape.lastIndex, 'a compaction stays within the log')
    this.#guard(() => {
      this.#startSegmentIfFull([])
      this.#commit((encoder) => encoder.meta('base', base))
      this.#shape.compact(base)
      this.#index.compact(logIndex(base.index + 1))
      this.#removeUnneeded()
      this.#noSpaceAhead = false
    })
  }

  /** Writes zeros ahead when few are left. To be called while no caller waits for the disk. */
  prepare(): void {
    const segment = this.#last()
    const wanted = Math.min(segment.end + this.#aheadBytes, this.#segmentBytes)
    if (this.#dead || segment.size >= wanted || segment.size - segment.end > this.#aheadBytes / 2) return
    if (this.#noSpaceAhead) return
    this.#guard(() => {
      const from = Math.max(segment.size, segment.end)
      this.#noSpaceAhead = !writeZerosAhead(segment.file, from, this.#zeros.subarray(0, wanted - from))
      if (this.#noSpaceAhead) return
      segment.file.sync()
      segment.size = wanted
    })
  }

  /** Verifies the checksums of a part of the files. */
  scrub(place: ScrubPlace, bytesMax: number): ScrubTurn {
    assert(!this.#closed, 'the log is open')
    return scrubTurn(this.scrubbed(), place, bytesMax)
  }

  /** The files of the log, up to the end of the last write. */
  scrubbed(): readonly ScrubbedSegment[] {
    return this.#segments.map(({ number, name, file, end }) => {
      return { number, name, file, end, preamble: encodePreamble(number, this.#logId, this.#owner) }
    })
  }

  /**
   * Rewrites the log, to remove damage or compacted entries from its files. This process knows the
   * terms, the vote and the place of each entry from before the damage. Durable on return.
   *
   * @returns false when the log failed before, or when an entry above the base cannot be read or
   *   these entries together exceed `bytesMax`: then the log has to be compacted first
   */
  rewrite(bytesMax: number): boolean {
    if (this.#dead) return false
    const entries = this.#readable(bytesMax)
    if (entries === null) return false
    this.#guard(() => {
      const { base, hardState, lastIndex } = this.#shape
      rewriteLog(this.#disk, {
        ...{ logId: this.#logId, owner: this.#owner, base, hardState, entries },
        ...{ lastSegment: this.#last().number, sequence: this.#sequence },
      })
      for (const segment of this.#segments) segment.file.close()
      const files = present(recover(this.#disk, this.#owner), 'the log was rewritten')
      const same = files.shape.lastIndex === lastIndex && sameHardState(files.shape.hardState, hardState)
      if (!same)
        throw damaged(this.#last().name, preambleBytes, 'the rewritten log differs from the original')
      this.#shape = files.shape
      this.#index = files.index
      this.#segments = files.segments
      this.#chain = files.chain
      this.#sequence = files.sequence
    })
    return true
  }

  /**
   * Trims the log by rewriting it. Under load a log may never have few enough entries for that, so
   * it also starts a new segment: a later compaction of everything before that segment removes the
   * older files.
   */
  trim(through: LogIndex, bytesMax: number): boolean {
    if (this.rewrite(bytesMax)) return true
    if (this.#dead) return false
    if (this.#trimming?.through !== through) {
      if (!this.#lastHoldsOnlyHead) this.#guard(() => this.#startSegment())
      this.#trimming = { through, firstSegment: this.#last().number }
    }
    return present(this.#segments[0], 'a log has a segment').number >= this.#trimming.firstSegment
  }

  /** Returns the entries above the base; null when they are damaged or exceed `bytesMax`. */
  #readable(bytesMax: number): readonly Entry[] | null {
    const { base, lastIndex } = this.#shape
    if (this.#index.bytes > bytesMax) return null
    if (lastIndex === base.index) return []
    try {
      return this.read(logIndex(base.index + 1), lastIndex, Infinity)
    } catch (cause) {
      if (cause instanceof LogError && (cause.code === 'damaged' || cause.code === 'io')) return null
      throw cause
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (!this.#dead) this.#leaveEndMark()
    for (const segment of this.#segments) segment.file.close()
  }

  #leaveEndMark(): void {
    const [logId, segment] = [this.#logId, this.#last().number]
    try {
      writeEndMark(this.#disk, { logId, segment, chain: this.#chain, sequence: this.#sequence })
    } catch (cause) {
      // The end mark is optional; the previous one stays valid.
      if (!(cause instanceof LogError)) throw cause
    }
  }

  /**
   * Runs a disk operation. After a failure the state of the disk is unknown, so nothing more is
   * written or acknowledged.
   */
  #guard(action: () => void): void {
    assert(!this.#closed, 'the log is open')
    if (this.#dead) throw new LogError('dead', 'the log failed before; it must be opened again')
    this.#dead = true
    action()
    this.#dead = false
  }

  /** Writes one group, with one write and one sync. */
  #commit(fill: (encoder: GroupEncoder) => void): {
    readonly placed: readonly PlacedEntry[]
    readonly segment: Segment
    readonly offset: number
  } {
    const segment = this.#last()
    const offset = segment.end
    this.#encoder.begin({
      logId: this.#logId,
      segment: segment.number,
      sequence: this.#sequence,
      seed: this.#chain,
    })
    fill(this.#encoder)
    const { bytes, chain, placed } = this.#encoder.finish()
    segment.file.write(offset, bytes)
    segment.file.sync()
    segment.lastGroup = offset
    segment.end = offset + bytes.length
    segment.size = Math.max(segment.size, segment.end)
    this.#chain = chain
    this.#sequence++
    return { placed, segment, offset }
  }

  /** Starts the next segment when `writes` do not fit the last one. */
  #startSegmentIfFull(writes: readonly LogWrite[]): void {
    const segment = this.#last()
    let bytes = 0
    for (const write of writes) for (const entry of write.entries) bytes += entryBytes(entry)
    if (this.#lastHoldsOnlyHead || segment.end + bytes <= this.#segmentBytes) return
    this.#startSegment()
  }

  get #lastHoldsOnlyHead(): boolean {
    return this.#last().lastGroup === preambleBytes
  }

  #startSegment(): void {
    const chain = this.#chain
    const sequence = this.#sequence
    const number = this.#last().number + 1
    this.#encoder.begin({ logId: this.#logId, segment: number, sequence, seed: chain })
    fillHead(this.#encoder, this.#shape)
    const head = this.#encoder.finish()
    const next = createSegment(this.#disk, {
      ...{ number, logId: this.#logId, owner: this.#owner },
      head: head.bytes,
    })
    // The seal is written last, because it implies that the next segment exists.
    this.#commit((encoder) => encoder.seal(number))
    this.#segments.push(next)
    this.#chain = head.chain
    this.#sequence = sequence + 1
  }

  #reset(base: SnapshotMeta): void {
    this.#shape.reset(base)
    this.#index.reset(logIndex(base.index + 1))
  }

  /** Removes unneeded segments, the oldest first, so that a crash leaves a valid log. */
  #removeUnneeded(): void {
    const first = logIndex(this.#shape.base.index + 1)
    const needed = this.#index.has(first) ? this.#index.place(first).segment : this.#last().number
    let removed = false
    while ((this.#segments[0] as Segment).number < needed) {
      const segment = present(this.#segments.shift(), 'there is a segment')
      segment.file.close()
      this.#disk.remove(segment.name)
      removed = true
    }
    if (removed) this.#disk.syncDirectory()
  }

  #last(): Segment {
    return present(this.#segments.at(-1), 'a log has a segment')
  }
}

function sameHardState(one: HardState, other: HardState): boolean {
  return one.term === other.term && one.vote === other.vote && one.commit === other.commit
}

function place(segment: Segment, offset: number, placed: PlacedEntry): EntryPlace {
  return {
    segment: segment.number,
    offset: offset + placed.offset,
    length: placed.length,
    seed: placed.seed,
  }
}
