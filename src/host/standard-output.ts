import { writeSync } from 'node:fs'

export type StandardOutputDependencies = {
  /**
   * Writes what fits, without blocking.
   * @returns bytes written; 0: none now
   * @throws Error of the operating system
   */
  readonly tryWrite: (bytes: Uint8Array) => number
  readonly later: (delayMs: number, action: () => void) => void
  /** Blocks the thread. */
  readonly sleep: (ms: number) => void
  /**
   * Maximum bytes of waiting lines. When full: new lines are dropped and counted, which is logged
   * once there is space.
   */
  readonly waitingBytesMax: number
  /** Called with the number of dropped lines once there is space again. */
  readonly onLinesDropped: (lost: number) => void
}

type Waiting = {
  bytes: Uint8Array
  /** Unset: the writer of the lines does not wait. */
  readonly settle?: (cause: Error | null) => void
}

/** Retry interval of a full pipe: short while its reader reads, long while it does not. */
const retryMs = { first: 1, last: 50 }

/**
 * The destination of the log of the process, and of the audit log if configured. A line is written
 * at once, so that the last lines of a process are not lost; while the reader of a pipe does not
 * read, lines wait and the thread never blocks. Lines of all writers stay whole and in order.
 */
export class StandardOutput {
  /** Standard output is not rotated, so it reports no size. */
  readonly size: number = 0
  readonly #dependencies: StandardOutputDependencies
  readonly #waiting: Waiting[] = []
  /** Bytes of waiting log lines, without appended ones, which their writer counts. */
  #lineBytes = 0
  #lost = 0
  #unreported = 0
  #retryMs = retryMs.first
  #isRetrying = false

  constructor(dependencies: StandardOutputDependencies) {
    this.#dependencies = dependencies
  }

  /** Lines dropped since the start. */
  get lost(): number {
    return this.#lost
  }

  /** Writes a line of the log, with its newline. Never throws or blocks. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#lineBytes + bytes.byteLength > this.#dependencies.waitingBytesMax) return this.#lose(1)
    this.#lineBytes += bytes.byteLength
    this.#waiting.push({ bytes })
    this.#flush()
  }

  /**
   * Resolves when the lines are written; one call at a time.
   * @throws Error of the operating system
   */
  append(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (cause: Error | null): void => {
        if (cause === null) resolve()
        else reject(cause)
      }
      this.#waiting.push({ bytes, settle })
      this.#flush()
    })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /**
   * Writes waiting lines before the process ends, if a reader reads them within that time. Blocks
   * the thread.
   */
  drain(msMax: number): void {
    this.#writeWhatFits()
    for (let left = msMax; this.#waiting.length > 0 && left > 0; left -= retryMs.last) {
      this.#dependencies.sleep(retryMs.last)
      this.#writeWhatFits()
    }
  }

  #flush(): void {
    if (this.#isRetrying) return
    const works = this.#writeWhatFits()
    if (this.#waiting.length > 0) this.#retry()
    if (works) this.#reportLosses()
  }

  #retry(): void {
    this.#isRetrying = true
    this.#dependencies.later(this.#retryMs, () => {
      this.#isRetrying = false
      this.#retryMs = Math.min(2 * this.#retryMs, retryMs.last)
      this.#flush()
    })
  }

  /** Returns false: the output cannot be written to, and what waited is lost. */
  #writeWhatFits(): boolean {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      let taken: number
      try {
        taken = this.#dependencies.tryWrite(first.bytes)
      } catch (cause) {
        this.#loseAll(cause instanceof Error ? cause : new Error('cannot be written', { cause }))
        return false
      }
      if (taken === 0) return true
      this.#retryMs = retryMs.first
      if (first.settle === undefined) this.#lineBytes -= taken
      first.bytes = first.bytes.subarray(taken)
      if (first.bytes.byteLength > 0) continue
      this.#waiting.shift()
      first.settle?.(null)
    }
    return true
  }

  /**
   * The reader has gone, or the file is on a full disk: these lines are lost, later ones are still
   * tried.
   */
  #loseAll(cause: Error): void {
    const waiting = this.#waiting.splice(0)
    this.#lineBytes = 0
    this.#lose(waiting.filter(({ settle }) => settle === undefined).length)
    for (const { settle } of waiting) settle?.(cause)
  }

  #lose(count: number): void {
    this.#lost += count
    this.#unreported += count
  }

  #reportLosses(): void {
    if (this.#unreported === 0 || this.#lineBytes > this.#dependencies.waitingBytesMax / 2) return
    const lost = this.#unreported
    this.#unreported = 0
    this.#dependencies.onLinesDropped(lost)
  }
}

/** Opens the standard output of this process. */
export function openStandardOutput(
  bounds: Pick<StandardOutputDependencies, 'waitingBytesMax' | 'onLinesDropped'>,
): StandardOutput {
  // Reading this property puts a pipe into non-blocking mode: a full one returns EAGAIN.
  const { fd } = process.stdout
  const nothing = new Int32Array(new SharedArrayBuffer(4))
  return new StandardOutput({
    tryWrite: (bytes) => {
      try {
        return writeSync(fd, bytes)
      } catch (cause) {
        if (cause instanceof Error && 'code' in cause && cause.code === 'EAGAIN') return 0
        throw cause
      }
    },
    // Waiting output does not keep the process alive.
    later: (delayMs, action) => void setTimeout(action, delayMs).unref(),
    sleep: (ms) => void Atomics.wait(nothing, 0, 0, ms),
    ...bounds,
  })
}
