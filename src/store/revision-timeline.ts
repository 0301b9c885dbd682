/**
 * Samples of the state's position over time. The state does not record the age of a revision; a
 * sample that is a period old proves that everything up to its revision is at least that old.
 */
export class RevisionTimeline<Note extends { readonly atMs: number }> {
  readonly #periodMs: () => number
  #notes: Note[] = []

  constructor(periodMs: () => number) {
    this.#periodMs = periodMs
  }

  /**
   * Adds a sample unless the last one is recent. Every property of `now` is at least as high as in
   * the call before. @returns the newest sample that is at least a period old; null: there is none
   */
  sample(now: Note): Note | null {
    const periodMs = this.#periodMs()
    const last = this.#notes[this.#notes.length - 1]
    if (last === undefined || now.atMs - last.atMs >= periodMs / notesPerPeriod) this.#notes.push(now)
    let young = this.#notes.findIndex((note) => now.atMs - note.atMs < periodMs)
    if (young === -1) young = this.#notes.length
    if (young === 0) return null
    // Older samples are no longer needed.
    this.#notes = this.#notes.slice(young - 1)
    return this.#notes[0] ?? null
  }

  clear(): void {
    this.#notes = []
  }
}

/** Samples per period, which is the resolution; one more is kept. */
const notesPerPeriod = 100
