import { assert, present } from '../../base/assert.ts'
import type { CoreConfig } from '../../raft/core/config.ts'
import type { Message } from '../../raft/core/message.ts'
import { Raft } from '../../raft/core/raft.ts'
import type { Ready } from '../../raft/core/ready.ts'
import type { Recovered } from '../../raft/core/state.ts'
import { logIndex, noTerm } from '../../raft/core/types.ts'
import type {
  Configuration,
  Entry,
  HardState,
  LogIndex,
  NodeId,
  SnapshotMeta,
  Term,
} from '../../raft/core/types.ts'

type Persist = NonNullable<Ready['persist']>

/** A log as plain data: everything after `base`. */
export type LogImage = { base: SnapshotMeta; entries: Entry[] }

/**
 * One core with a slow disk. Writes wait in `pendingWrites` until `finishWrite`; a crash loses
 * those that did not finish.
 */
export class Member {
  readonly id: NodeId
  #config: CoreConfig
  raft: Raft
  /** The state that survives a crash. */
  disk: LogImage & { hardState: HardState; applied: LogIndex }
  /** The log as reported by the core so far, durable or not. */
  memory: LogImage
  pendingWrites: Persist[] = []
  /** Applied in memory, at once after each commit. */
  applied: LogIndex
  /** The time that the core received last. */
  clockMs = 0

  constructor(config: CoreConfig, disk: Member['disk']) {
    this.id = config.id
    this.#config = config
    this.disk = disk
    this.memory = { base: disk.base, entries: [...disk.entries] }
    this.applied = disk.applied
    this.raft = new Raft(config, recovered(disk), disk.applied)
  }

  /** Takes the output of the core and applies commits; its write waits for `finishWrite`. */
  takeReady(): Ready {
    const ready = this.raft.ready()
    if (ready.persist !== null) {
      this.pendingWrites.push(ready.persist)
      write(this.memory, ready.persist)
    }
    if (ready.commit !== null) {
      this.applied = ready.commit
      this.raft.applied(ready.commit)
    }
    return ready
  }

  /**
   * Receives a message of an honest member, which the core must not refuse.
   *
   * @throws Error if the core refuses it
   */
  receive(message: Message): void {
    const violation = this.raft.step(message)
    if (violation !== null)
      throw new Error(`member ${this.id} refused an honest ${message.kind}: ${violation}`)
  }

  /**
   * Finishes the oldest write and reports it to the core.
   *
   * @returns the messages that depend on it
   */
  finishWrite(): readonly Message[] {
    const persist = this.#writeOldest()
    this.raft.persisted(persist.ticket)
    return persist.messages
  }

  /**
   * Restarts the member without its pending writes.
   *
   * @param writesThatSurvive how many of the oldest pending writes did reach the disk
   * @param config that of the restarted core; unchanged by default
   */
  crash(writesThatSurvive: number, config: CoreConfig = this.#config): void {
    this.#config = config
    for (let left = writesThatSurvive; left > 0 && this.pendingWrites.length > 0; left--) this.#writeOldest()
    this.pendingWrites = []
    this.memory = { base: this.disk.base, entries: [...this.disk.entries] }
    this.applied = this.disk.applied
    this.raft = new Raft(this.#config, recovered(this.disk), this.disk.applied)
    this.raft.setTime(this.clockMs)
  }

  /** Makes durable what the state machine has applied, but not beyond the durable log. */
  flush(): void {
    const durable = Math.min(this.applied, this.raft.status().persistedIndex)
    if (durable > this.disk.applied) this.disk.applied = logIndex(durable)
  }

  /**
   * Forgets the log at and below `index`.
   *
   * @param index at most what the state machine has durably
   */
  compact(index: LogIndex): void {
    assert(index <= this.disk.applied, 'only what the state holds is compacted')
    const base = snapshotAt(this.memory, index)
    this.raft.compact(base)
    compactImage(this.memory, base)
    compactImage(this.disk, base)
  }

  /** The durable state, as it would be streamed to a peer. */
  snapshot(): SnapshotMeta {
    this.flush()
    return snapshotAt(this.memory, this.disk.applied)
  }

  /** Answers a fetch from disk. */
  fetch(from: LogIndex, bytesMax: number): void {
    this.raft.supply(this.readDisk(from, bytesMax))
  }

  /**
   * Returns consecutive entries from `from` on, at most `bytesMax` but at least one; an empty list
   * if they were compacted.
   */
  readDisk(from: LogIndex, bytesMax: number): readonly Entry[] {
    const at = from - this.disk.base.index - 1
    if (at < 0) return []
    const entries: Entry[] = []
    let bytes = 0
    for (const entry of this.disk.entries.slice(at)) {
      bytes += 32 + (entry.kind === 'command' ? entry.data.byteLength : 0)
      if (entries.length > 0 && bytes > bytesMax) break
      entries.push(entry)
    }
    return entries
  }

  #writeOldest(): Persist {
    const persist = present(this.pendingWrites.shift(), 'a write is under way')
    write(this.disk, persist)
    if (persist.hardState !== null) this.disk.hardState = persist.hardState
    if (persist.snapshot !== null) this.disk.applied = persist.snapshot.index
    return persist
  }
}

/** Returns a disk with a log that was compacted at `index` and this configuration in force. */
export function newDisk(configuration: Configuration, index: LogIndex, term: Term): Member['disk'] {
  const base = { index, term, configuration }
  return {
    base,
    entries: [],
    hardState: { term, vote: null, commit: index },
    applied: index,
  }
}

export function lastIndexOf(image: LogImage): LogIndex {
  return logIndex(image.base.index + image.entries.length)
}

/** @returns null if it was compacted or does not exist */
export function entryAt(image: LogImage, index: LogIndex): Entry | null {
  return image.entries[index - image.base.index - 1] ?? null
}

export function termAt(image: LogImage, index: LogIndex): Term | null {
  return index === image.base.index ? image.base.term : (entryAt(image, index)?.term ?? null)
}

/** The header of a snapshot of the state at `index`. */
export function snapshotAt(image: LogImage, index: LogIndex): SnapshotMeta {
  let { configuration } = image.base
  for (const entry of image.entries) {
    if (entry.index <= index && entry.kind === 'configuration') ({ configuration } = entry)
  }
  return { index, term: present(termAt(image, index), 'the index is in the log'), configuration }
}

function write(image: LogImage, persist: Persist): void {
  if (persist.snapshot !== null) {
    image.base = persist.snapshot
    image.entries = []
  }
  const first = persist.entries[0]
  if (first === undefined) return
  assert(first.index > image.base.index, 'what was compacted is not written again')
  assert(first.index <= lastIndexOf(image) + 1, 'writes leave no gap')
  image.entries.length = first.index - image.base.index - 1
  image.entries.push(...persist.entries)
}

function compactImage(image: LogImage, base: SnapshotMeta): void {
  if (base.index <= image.base.index) return
  image.entries.splice(0, base.index - image.base.index)
  image.base = base
}

function recovered(disk: Member['disk']): Recovered {
  const configurations = disk.entries.flatMap((entry) =>
    entry.kind === 'configuration' ? [{ index: entry.index, configuration: entry.configuration }] : [],
  )
  const termRuns: { first: LogIndex; term: Term }[] = []
  for (const entry of disk.entries) {
    if ((termRuns.at(-1)?.term ?? noTerm) !== entry.term) {
      termRuns.push({ first: entry.index, term: entry.term })
    }
  }
  return {
    hardState: disk.hardState,
    base: disk.base,
    configuration: configurations.at(-1)?.configuration ?? disk.base.configuration,
    configurations,
    lastIndex: lastIndexOf(disk),
    lastTerm: disk.entries.at(-1)?.term ?? disk.base.term,
    termRuns,
  }
}
