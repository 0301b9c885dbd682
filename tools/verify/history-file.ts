import { createReadStream, createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { VerifyError } from './errors.ts'
import { HistoryBuilder } from './history-builder.ts'
import type { History } from './history.ts'
import { LineReader, writeLine } from './history-lines.ts'
import type { Line } from './history-lines.ts'
import { verifyLimits } from './limits.ts'

/** Writes a recording to a file line by line, so that memory does not limit its length. */
export class HistoryFile {
  readonly path: string
  readonly #stream: WriteStream
  #failure: Error | null = null
  /**
   * Pending while the write buffer is full; resolves when it has drained or the file has failed.
   */
  #drained: Promise<void> | null = null

  /** @param path created with mode 0600: it contains host names, but no secrets */
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

  /**
   * Waits while the write buffer is full.
   *
   * @throws VerifyError `history` when the file cannot be written
   */
  async untilWritable(): Promise<void> {
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

  /** @throws VerifyError `history` when the file cannot be written */
  async close(): Promise<void> {
    this.#stream.end()
    await finished(this.#stream).catch(() => undefined)
    this.#check()
  }

  #check(): void {
    if (this.#failure === null) return
    const { message } = this.#failure
    throw new VerifyError('history', `cannot write ${this.path}: ${message}`, { cause: this.#failure })
  }
}

/**
 * Reads a recording. An incomplete last line is ignored: the recorder was killed.
 *
 * @throws VerifyError `history`, naming file, line and remedy; `too-long`
 */
export async function readHistory(path: string): Promise<History> {
  const reader = new LineReader()
  const builder = new HistoryBuilder()
  let at = 0
  try {
    for await (const { text, isWhole } of linesOf(path)) {
      at++
      // Without a complete first line the file is not a recording.
      if (!isWhole && builder.hasFacts && !isJson(text)) break
      builder.add(reader.read(text))
    }
    return builder.history()
  } catch (cause) {
    if (cause instanceof VerifyError && cause.code === 'too-long') throw cause
    const remedy = builder.hasFacts
      ? 'it is damaged, record again'
      : 'give a file that was recorded by --save'
    const place = at === 0 ? path : `line ${at} of ${path}`
    throw new VerifyError('history', `cannot read ${place}: ${reasonOf(cause)}: ${remedy}`, { cause })
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
