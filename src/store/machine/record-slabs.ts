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
 * The bytes of a record never change once they are in a slab, and no slab is used again. A reader
 * of a released record has a copy of it, so that it does not keep a slab in memory. Only a slab
 * with a single record may stay with its reader.
 *
 * Sparse slabs are emptied one after the other, at the pace of the releases: for each released
 * byte, about two are copied. So no release takes long, however many slabs are sparse at the same
 * time, and memory never grows by more than the open slab while records are only released.
 */
export class RecordSlabs {
  #open = new Slab(0)
  /** Closed slabs of which less than 60 % is in use, in the order in which they are emptied. */
  readonly #sparse = new Set<Slab>()
  /** Bytes that may be copied. Negative after a record that was larger than the rest. */
  #budget = 0

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
    const slab = new Slab(bytes)
    slab.append(owner, record, cuts)
    slab.close()
  }

  /**
   * Called once by the owner of the record, when the state does not refer to it anymore.
   *
   * @returns the record for readers that still have it
   */
  release(slab: Slab, at: number): Buffer {
    const record = slab.slice(at, 0)
    const bytes = slab.entryBytesAt(at)
    slab.release(at)
    if (slab !== this.#open) this.#update(slab)
    this.#budget += copiedPerReleased * (bytes + recordCost)
    this.#compact()
    return record
  }

  #slabFor(bytes: number): Slab {
    if (this.#open.freeBytes < bytes) {
      const full = this.#open
      full.close()
      this.#open = new Slab(slabBytes)
      this.#update(full)
    }
    return this.#open
  }

  #update(slab: Slab): void {
    if (slab.usedBytes === 0) this.#sparse.delete(slab)
    else if (slab.usedBytes < usedShareMin * slab.bytes.byteLength) this.#sparse.add(slab)
  }

  /** Copies records of sparse slabs to the open one, as many as the budget allows. */
  #compact(): void {
    for (const slab of this.#sparse) {
      for (let at = slab.nextUsed(); this.#budget > 0 && at !== null; at = slab.nextUsed()) {
        const bytes = slab.entryBytesAt(at)
        this.#slabFor(bytes).moveFrom(slab, at)
        this.#budget -= bytes + recordCost
      }
      if (slab.usedBytes > 0) return
      this.#sparse.delete(slab)
    }
    // Nothing is sparse: the rest of the budget is not saved for later.
    this.#budget = Math.min(this.#budget, 0)
  }
}

const slabBytes = 256 * 1024
/** Share of a slab that is in use. Less: it is emptied, which copies three bytes to free two. */
const usedShareMin = 0.6
/** Bytes that are copied for each released one, while there are sparse slabs. */
const copiedPerReleased = 2
/** Records in a slab with others. Larger: in one of its own. */
const sharedSlabRecordBytesMax = slabBytes >>> 3
/** Copying a record costs as much as this many bytes more. */
const recordCost = 64
