import { writeSync } from 'node:fs'

export type StandardOutputParts = {
  /** Takes what there is room for, at once. @returns bytes taken; 0: none now @throws Error of the operating system */
  readonly tryWrite: (bytes: Uint8Array) => number
  readonly later: (delayMs: number, action: () => void) => void
  /** Sleeps, thread and all. */
  readonly sleep: (ms: number) => void
  /** Of lines that wait. When full: what comes is lost and counted, and that is said once there is room. */
  readonly waitingBytesMax: number
  /** Lines were lost, and there is room again: the time to say so. */
  readonly onRoomAgain: (lost: number) => void
}

type Waiting = {
  bytes: Uint8Array
  /** Unset: lines that nobody waits for. */
  readonly settle?: (cause: Error | null) => void
}

/** How often a full pipe is tried again: at once more or less where its reader is at work, and seldom where it stands still. */
const retryMs = { first: 1, last: 50 }

/**
 * Where the process writes its log, and the audit log where that goes there too. A line is written at once, so that the last words of
 * a process are not lost with it; where the reader of a pipe stands still, lines wait, and the thread never does. All goes in order
 * and whole, whoever wrote it.
 */
export class StandardOutput {
  /** Nothing is put aside here, so it says no size. */
  readonly size: number = 0
  readonly #parts: StandardOutputParts
  readonly #waiting: Waiting[] = []
  /** Without what is appended, of which its caller keeps count. */
  #lineBytes = 0
  #lost = 0
  #untold = 0
  #retryMs = retryMs.first
  #isRetrying = false

  constructor(parts: StandardOutputParts) {
    this.#parts = parts
  }

  /** Lines that were lost since the start. */
  get lost(): number {
    return this.#lost
  }

  /** A line of the log, with its end. Never throws, never waits. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#lineBytes + bytes.byteLength > this.#parts.waitingBytesMax) return this.#lose(1)
    this.#lineBytes += bytes.byteLength
    this.#waiting.push({ bytes })
    this.#flush()
  }

  /** Lines whose writer waits until they are written; one call at a time. @throws Error of the operating system */
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

  /** Before the process ends: what waits is written if a reader takes it within that time. Keeps the thread. */
  drain(msMax: number): void {
    this.#writeWhatFits()
    for (let left = msMax; this.#waiting.length > 0 && left > 0; left -= retryMs.last) {
      this.#parts.sleep(retryMs.last)
      this.#writeWhatFits()
    }
  }

  #flush(): void {
    if (this.#isRetrying) return
    const works = this.#writeWhatFits()
    if (this.#waiting.length > 0) this.#retry()
    if (works) this.#tellLosses()
  }

  #retry(): void {
    this.#isRetrying = true
    this.#parts.later(this.#retryMs, () => {
      this.#isRetrying = false
      this.#retryMs = Math.min(2 * this.#retryMs, retryMs.last)
      this.#flush()
    })
  }

  /** @returns false: it cannot be written to, and what waited is lost */
  #writeWhatFits(): boolean {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      let taken: number
      try {
        taken = this.#parts.tryWrite(first.bytes)
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

  /** Nobody reads any more, or the disk behind it is full: what comes next is tried anew. */
  #loseAll(cause: Error): void {
    const waiting = this.#waiting.splice(0)
    this.#lineBytes = 0
    this.#lose(waiting.filter(({ settle }) => settle === undefined).length)
    for (const { settle } of waiting) settle?.(cause)
  }

  #lose(count: number): void {
    this.#lost += count
    this.#untold += count
  }

  #tellLosses(): void {
    if (this.#untold === 0 || this.#lineBytes > this.#parts.waitingBytesMax / 2) return
    const lost = this.#untold
    this.#untold = 0
    this.#parts.onRoomAgain(lost)
  }
}

/** That of this process. */
export function openStandardOutput(
  bounds: Pick<StandardOutputParts, 'waitingBytesMax' | 'onRoomAgain'>,
): StandardOutput {
  // Once it was looked at, the system no longer keeps a writer to a full pipe: it says EAGAIN.
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
    // What waits for a reader that stands still keeps no process from ending.
    later: (delayMs, action) => void setTimeout(action, delayMs).unref(),
    sleep: (ms) => void Atomics.wait(nothing, 0, 0, ms),
    ...bounds,
  })
}
