/** Values of one object, in the order of the columns of its kind. */
export type Row = readonly string[]

/**
 * Keeps one copy of each row that many objects have in common, such as the Pods of one node in one
 * phase. Sharing affects only memory. When full, it forgets all rows; objects that have one keep
 * it.
 */
export class SharedRows {
  readonly #bytesMax: number
  readonly #rows = new Map<string, Row>()
  #bytes = 0

  /** @param bytesMax approximate bytes of the remembered rows */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Number of remembered rows. */
  get size(): number {
    return this.#rows.size
  }

  /** Returns a row with these values. */
  of(values: Row): Row {
    const name = JSON.stringify(values)
    const known = this.#rows.get(name)
    if (known !== undefined) return known
    // A value may be a slice that keeps a whole parsed text in memory: these are copies.
    const row = JSON.parse(name) as Row
    const bytes = rowOverheadBytes + 2 * name.length
    if (bytes > this.#bytesMax) return row
    if (this.#bytes + bytes > this.#bytesMax) {
      this.#rows.clear()
      this.#bytes = 0
    }
    this.#rows.set(name, row)
    this.#bytes += bytes
    return row
  }
}

/**
 * Approximate bytes of a row besides its text: a list, its elements, the headers of two strings,
 * and a slot of the map.
 */
const rowOverheadBytes = 150
