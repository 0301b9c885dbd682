import { createReadStream, createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { VerifyFailure } from './errors.ts'
import { HistoryBuilder } from './history-builder.ts'
import type { History } from './history.ts'
import { LineReader, writeLine } from './history-lines.ts'
import type { Line } from './history-lines.ts'
import { verifyLimits } from './limits.ts'

/** Where a recording goes, line by line, so that its length is not bounded by memory. */
export class HistoryFile {
  readonly path: string
  readonly #stream: WriteStream
  #failure: Error | null = null
  /** While too much is under way: until it is not, or cannot be any more. */
  #drained: Promise<void> | null = null

  /** @param path made anew, readable by its owner alone: it holds no secrets, but names of hosts */
  constructor(path: string) {
    this.path = path
    this.#stream = createWriteStream(path, { mode: 0o600 })
    this.#stream.on('error', (cause) => {
      this.#failure = cause
    })
  }

  write(line: Line): void {
    if (this.#failure === null) this.#stream.write(`${writeLine(line)}\n`)
  }

  /** Waits while too much is under way. @throws VerifyFailure `history` when the file cannot be written */
  async room(): Promise<void> {
    while (this.#failure === null && this.#stream.writableLength > verifyLimits.spillBytesMax) {
      this.#drained ??= new Promise<void>((resolve) => {
        this.#stream.once('drain', resolve)
        this.#stream.once('error', () => resolve())
      }).finally(() => {
        this.#drained = null
      })
      await this.#drained
    }
    this.#check()
  }

  /** @throws VerifyFailure `history` when the file cannot be written */
  async close(): Promise<void> {
    this.#stream.end()
    await finished(this.#stream).catch(() => undefined)
    this.#check()
  }

  #check(): void {
    if (this.#failure === null) return
    const { message } = this.#failure
    throw new VerifyFailure('history', `cannot write ${this.path}: ${message}`, { cause: this.#failure })
  }
}

/**
 * Reads a recording. A last line that is cut short is left out: whoever recorded it was ended.
 *
 * @throws VerifyFailure `history`, naming file and line, and what to do; `too-long`
 */
export async function readHistory(path: string): Promise<History> {
  const reader = new LineReader()
  const builder = new HistoryBuilder()
  let at = 0
  try {
    for await (const { text, isWhole } of linesOf(path)) {
      at++
      // Without its first line it is no recording that was cut short, but no recording.
      if (!isWhole && builder.hasFacts && !isJson(text)) break
      builder.add(reader.read(text))
    }
    return builder.history()
  } catch (cause) {
    if (cause instanceof VerifyFailure && cause.code === 'too-long') throw cause
    const remedy = builder.hasFacts
      ? 'it was damaged, record anew'
      : 'give a file that was recorded by --save'
    const place = at === 0 ? path : `line ${at} of ${path}`
    throw new VerifyFailure('history', `cannot read ${place}: ${reasonOf(cause)}: ${remedy}`, { cause })
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return 'syscall' in cause && 'code' in cause ? String(cause.code) : cause.message
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

async function* linesOf(
  path: string,
): AsyncGenerator<{ readonly text: string; readonly isWhole: boolean }, void> {
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8' }) as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > verifyLimits.lineBytesMax) throw new Error('a line is too long for a history')
    for (const text of lines) yield { text, isWhole: true }
  }
  if (rest !== '') yield { text: rest, isWhole: false }
}
