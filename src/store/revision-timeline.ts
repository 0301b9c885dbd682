/**
 * What was so when, as far back as one period: tells how old a revision is at least, of which the
 * state says nothing. Ascending in everything.
 */
export class RevisionTimeline<Note extends { readonly atMs: number }> {
  readonly #periodMs: () => number
  #notes: Note[] = []

  constructor(periodMs: () => number) {
    this.#periodMs = periodMs
  }

  /**
   * Takes a note, coarse enough to need few. @returns the newest a whole period old; null: none is
   */
  look(now: Note): Note | null {
    const periodMs = this.#periodMs()
    const last = this.#notes[this.#notes.length - 1]
    if (last === undefined || now.atMs - last.atMs >= periodMs / notesPerPeriod) this.#notes.push(now)
    let young = this.#notes.findIndex((note) => now.atMs - note.atMs < periodMs)
    if (young === -1) young = this.#notes.length
    if (young === 0) return null
    // Older ones are of no more use.
    this.#notes = this.#notes.slice(young - 1)
    return this.#notes[0] ?? null
  }

  clear(): void {
    this.#notes = []
  }
}

/** A period is known to one part in so many; as many notes are kept, and one. */
const notesPerPeriod = 100
