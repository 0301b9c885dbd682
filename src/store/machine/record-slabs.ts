import { sharedTextsIn } from './shared-texts-of-record.ts'
import { entryBytes, Slab } from './slab.ts'
import type { RecordOwner } from './slab.ts'

/**
 * The records of one state, one after another in slabs. A buffer for each record would cost several
 * hundred bytes more, in the heap and outside of it.
 *
 *   add ──> open ──full──> closed ──less than 60 % in use──> sparse ──records copied──> unused
 *            ^                                                            │
 *            └────────────────────────────────────────────────────────────┘
 *
 * The bytes of a record never change or move once they are in a slab: a record that is copied to
 * the open slab stays in the old one, too. The engine frees the old slab when no reader has it.
 *
 * Memory is at most about 1.8 times the bytes of the records that were not released, plus the open
 * slab with its texts. Releasing a record copies at most about twice its bytes, so the work is
 * spread over the releases, however many slabs are sparse at the same time.
 */
export class RecordSlabs {
  #open: Slab
  /** Closed slabs of which less than 60 % is in use, in the order in which they are emptied. */
  readonly #sparse = new Set<Slab>()

  constructor() {
    this.#open = new Slab(this, 0)
  }

  /**
   * Copies a record to a slab, without the texts that it has in common with other records.
   *
   * @param from where the search for such texts begins
   */
  add(owner: RecordOwner, record: Buffer, from: number): void {
    const cuts = sharedTextsIn(record, from)
    const ownBytes = cuts.reduce((bytes, { shared }) => bytes - shared.bytes.byteLength, record.byteLength)
    const bytes = entryBytes(ownBytes, cuts.length)
    if (bytes <= sharedSlabRecordBytesMax) {
      this.#slabFor(bytes).append(owner, record, cuts)
      return
    }
    const slab = new Slab(this, bytes)
    slab.append(owner, record, cuts)
    slab.close()
  }

  /** Called when a record in `slab` was released. */
  released(slab: Slab, bytes: number): void {
    if (slab !== this.#open) this.#update(slab)
    this.#compact(copiedPerReleased * Math.min(bytes + recordCost, sharedSlabRecordBytesMax))
  }

  #slabFor(bytes: number): Slab {
    if (this.#open.freeBytes < bytes || this.#open.textBytes > textBytesMax) {
      const full = this.#open
      full.close()
      this.#open = new Slab(this, slabBytes)
      this.#update(full)
    }
    return this.#open
  }

  #update(slab: Slab): void {
    if (slab.usedBytes === 0) this.#sparse.delete(slab)
    else if (slab.usedBytes < usedShareMin * slab.totalBytes) this.#sparse.add(slab)
  }

  /** Copies records of sparse slabs to the open one. */
  #compact(cost: number): void {
    let left = cost
    for (const slab of this.#sparse) {
      for (let at = slab.nextUsed(); left > 0 && at !== null; at = slab.nextUsed()) {
        const bytes = slab.entryBytesAt(at)
        this.#slabFor(bytes).moveFrom(slab, at)
        left -= bytes + recordCost
      }
      if (slab.usedBytes > 0) return
      this.#sparse.delete(slab)
    }
  }
}

const slabBytes = 256 * 1024
/** Share of a slab that is in use. Less: it is emptied, which copies three bytes to free two. */
const usedShareMin = 0.6
/** Bytes that are copied for each released one, while there are sparse slabs. */
const copiedPerReleased = 2
/** Records in a slab with others. Larger: in one of its own. */
const sharedSlabRecordBytesMax = slabBytes >>> 3
/** Bytes of the texts of the open slab. More: it is closed, because it is not emptied before. */
const textBytesMax = 4 * slabBytes
/** Copying a record costs as much as this many bytes more. */
const recordCost = 64
