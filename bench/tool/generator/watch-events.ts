import { benchLimits } from '../limits.ts'

/** Receives the parts of a watch that are used. */
export type WatchListener = {
  /** @param mark that the writer stored in the object */
  readonly event: (mark: string, resourceVersion: string) => void
  /** A bookmark: all events up to this revision were sent. */
  readonly bookmark: (resourceVersion: string) => void
  /** An error event, or a line without a `resourceVersion`. */
  readonly error: (line: string) => void
}

const marker = Buffer.from('"mark":"')
const version = Buffer.from('"resourceVersion":"')
const errorType = Buffer.from('"ERROR"')
/** Bytes of a line in which the type is searched: it is the first field of an event. */
const typeBytes = 40
const quote = 0x22
const newline = 0x0a

/** Splits the body of a watch into lines and extracts the used parts without parsing the JSON. */
export class WatchEvents {
  readonly #listener: WatchListener
  #rest: Buffer | null = null

  constructor(listener: WatchListener) {
    this.#listener = listener
  }

  /** Resets the state for a new stream. */
  reset(): void {
    this.#rest = null
  }

  /** @throws Error for a line that is too long */
  take(data: Buffer, from: number, to: number): void {
    let piece = data.subarray(from, to)
    if (this.#rest !== null) piece = Buffer.concat([this.#rest, piece])
    let at = 0
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, at)) {
      if (end > at) this.#line(piece.subarray(at, end))
      at = end + 1
    }
    const left = piece.length - at
    if (left > benchLimits.eventBytesMax) throw new Error('an event is too long')
    this.#rest = left === 0 ? null : Buffer.from(piece.subarray(at))
  }

  #line(line: Buffer): void {
    const isError = line.subarray(0, typeBytes).includes(errorType)
    const resourceVersion = textAfter(line, version)
    const mark = textAfter(line, marker)
    if (isError || resourceVersion === null)
      this.#listener.error(line.toString('utf8', 0, benchLimits.failureWordsMax))
    else if (mark === null) this.#listener.bookmark(resourceVersion)
    else this.#listener.event(mark, resourceVersion)
  }
}

/** Returns the text between `words` and the next quotation mark; null: not found. */
function textAfter(line: Buffer, words: Buffer): string | null {
  const at = line.indexOf(words)
  if (at < 0) return null
  const from = at + words.length
  const to = line.indexOf(quote, from)
  return to < 0 ? null : line.toString('latin1', from, to)
}
