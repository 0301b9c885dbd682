import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'
import { backupName, expiredBackups } from './backups.ts'
import type { LogFile, LogFiles } from './log-files.ts'
import { DroppedEventReporter } from './dropped-event-reporter.ts'
import type { DroppedEventReporterDependencies } from './dropped-event-reporter.ts'

export type AuditLogOptions = {
  readonly path: string
  /** A file that would grow beyond it is rotated. Infinity: never. */
  readonly bytesMax: number
  /** Maximum number of rotated files to keep. 0: no limit. */
  readonly backupsMax: number
  /** Maximum age of rotated files. 0: any. */
  readonly backupMsMax: number
}

export type AuditLogDependencies = {
  readonly clock: Clock
  readonly files: LogFiles
  readonly log: DroppedEventReporterDependencies['log']
  /** Called for lines that could not be written, or did not fit. */
  readonly onLost: (plugin: 'log' | 'buffered', count: number) => void
}

type Waiter = { readonly upTo: number; readonly wake: (written: boolean) => void }

/**
 * Writes lines in the background, so that no disk blocks the thread: all lines that arrive during a
 * write are written next. Lines that cannot be written are dropped, counted and logged; the next
 * write opens the file again.
 *
 * Bounded in lines and bytes. When full: the line is dropped and counted. Callers that must not
 * lose lines wait while `isFull`, which is at half of the bound, so that calls in progress still
 * have space.
 */
export class AuditLogWriter {
  readonly #options: AuditLogOptions
  readonly #dependencies: AuditLogDependencies
  #queue: Uint8Array[] = []
  #queuedBytes = 0
  /** The number of lines accepted, and of those written or dropped. */
  #taken = 0
  #settled = 0
  /** In order of `upTo`. */
  readonly #waiters = new Set<Waiter>()
  #file: LogFile | null
  #rotateAt: number
  #writing: Promise<void> | null = null
  /** Whether it was closed while the disk did not respond. A write may still end. */
  #abandoned = false
  readonly #reporter: DroppedEventReporter

  /** @param file at `path`, open */
  constructor(file: LogFile, options: AuditLogOptions, dependencies: AuditLogDependencies) {
    this.#file = file
    this.#options = options
    this.#dependencies = dependencies
    this.#rotateAt = options.bytesMax
    this.#reporter = new DroppedEventReporter({
      ...{ clock: dependencies.clock, log: dependencies.log, where: { path: options.path } },
      remedy: 'free space on the disk of the audit log, and check its permissions',
    })
  }

  /** @throws Error of the operating system */
  static async open(options: AuditLogOptions, dependencies: AuditLogDependencies): Promise<AuditLogWriter> {
    const writer = new AuditLogWriter(await dependencies.files.open(options.path), options, dependencies)
    await writer.#removeExpired()
    return writer
  }

  get isFull(): boolean {
    return (
      this.#queue.length >= limits.auditBufferLinesMax / 2 ||
      this.#queuedBytes >= limits.auditBufferBytesMax / 2
    )
  }

  /**
   * @param line with its newline
   * @returns false: dropped, there is no space for it
   */
  add(line: Uint8Array): boolean {
    const { auditBufferLinesMax, auditBufferBytesMax } = limits
    if (
      this.#queue.length >= auditBufferLinesMax ||
      this.#queuedBytes + line.byteLength > auditBufferBytesMax
    ) {
      this.#dependencies.onLost('buffered', 1)
      this.#reporter.dropped(1, 'too many events are waiting to be written')
      return false
    }
    this.#queue.push(line)
    this.#queuedBytes += line.byteLength
    this.#taken++
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null
    })
    return true
  }

  /**
   * Calls `wake` when all lines added so far are written, or were dropped.
   *
   * @returns a function that cancels the wait
   */
  whenSettled(wake: (written: boolean) => void): () => void {
    if (this.#settled === this.#taken) {
      wake(true)
      return () => undefined
    }
    const waiter = { upTo: this.#taken, wake }
    this.#waiters.add(waiter)
    return () => void this.#waiters.delete(waiter)
  }

  /**
   * Writes what waits, up to a time limit for the disk; the rest is dropped. Nothing may be added
   * afterwards.
   */
  async close(): Promise<void> {
    const { clock } = this.#dependencies
    const pending = this.#writing
    if (pending !== null) {
      const isDone = await new Promise<boolean>((resolve) => {
        const timer = clock.after(limits.auditCloseMsMax, () => resolve(false))
        void pending.then(() => {
          timer.cancel()
          resolve(true)
        })
      })
      if (!isDone) {
        this.#abandon('the member shuts down and the disk does not respond')
        void pending.then(() => this.#dropFile())
        return
      }
    }
    await this.#file?.close()
    this.#file = null
  }

  /** Drops all lines, so that no call waits for them any more. */
  #abandon(cause: string): void {
    const left = this.#taken - this.#settled
    this.#queue = []
    this.#queuedBytes = 0
    this.#drop(left, cause)
    this.#settle(left, false)
    this.#abandoned = true
  }

  async #writeAll(): Promise<void> {
    // More lines may arrive in this turn, and one write is enough for all.
    await Promise.resolve()
    while (this.#queue.length > 0) await this.#writeSome()
  }

  async #writeSome(): Promise<void> {
    const bytesMax = await this.#prepareFile()
    const lines = this.#takeLines(bytesMax)
    if (lines.length === 0) return
    const cause = await this.#append(Buffer.concat(lines))
    if (this.#abandoned) return
    if (cause !== null) this.#drop(lines.length, cause)
    else if (!this.isFull) this.#reporter.recovered()
    this.#settle(lines.length, cause === null)
  }

  /** Returns why the bytes were not written; null: they were. */
  async #append(bytes: Uint8Array): Promise<string | null> {
    try {
      this.#file ??= await this.#dependencies.files.open(this.#options.path)
      await this.#file.append(bytes)
      return null
    } catch (cause) {
      await this.#dropFile()
      return words(cause)
    }
  }

  /** Takes as many lines from the queue as fit, and at least one. */
  #takeLines(bytesMax: number): readonly Uint8Array[] {
    let count = 0
    let bytes = 0
    for (const line of this.#queue) {
      if (count > 0 && bytes + line.byteLength > bytesMax) break
      bytes += line.byteLength
      count++
    }
    this.#queuedBytes -= bytes
    return this.#queue.splice(0, count)
  }

  #settle(count: number, written: boolean): void {
    this.#settled += count
    for (const waiter of this.#waiters) {
      if (waiter.upTo > this.#settled) break
      this.#waiters.delete(waiter)
      waiter.wake(written)
    }
  }

  /**
   * Rotates a full file.
   * @returns the maximum bytes of the next write
   */
  async #prepareFile(): Promise<number> {
    const file = this.#file
    const next = this.#queue[0]?.byteLength ?? 0
    if (file !== null && file.size > 0 && file.size + next > this.#rotateAt) await this.#rotate(file.size)
    const left = this.#rotateAt - (this.#file?.size ?? 0)
    return Math.min(left, limits.auditWriteBytesMax)
  }

  async #rotate(size: number): Promise<void> {
    const { files, log } = this.#dependencies
    const { path, bytesMax } = this.#options
    try {
      await this.#dropFile()
      await files.rename(path, await this.#freePath())
      this.#rotateAt = bytesMax
    } catch (cause) {
      // It continues to grow, as events must be written somewhere; rotation is retried when it has
      // grown by `bytesMax` again.
      this.#rotateAt = size + bytesMax
      log.error({ path, cause: words(cause) }, 'the audit log cannot be rotated: it continues to grow')
    }
    await this.#removeExpired()
  }

  /** Two files rotated in one millisecond need different names. */
  async #freePath(): Promise<string> {
    const { path } = this.#options
    const directory = dirname(path)
    const there = new Set(await this.#dependencies.files.list(directory))
    let wallMs = this.#dependencies.clock.wallMs()
    while (there.has(backupName(basename(path), wallMs))) wallMs++
    return join(directory, backupName(basename(path), wallMs))
  }

  async #removeExpired(): Promise<void> {
    const { files, clock, log } = this.#dependencies
    const { path, backupsMax, backupMsMax } = this.#options
    if (backupsMax === 0 && backupMsMax === 0) return
    const bounds = { countMax: backupsMax, ageMsMax: backupMsMax, nowMs: clock.wallMs() }
    try {
      const names = await files.list(dirname(path))
      for (const name of expiredBackups(basename(path), names, bounds))
        await files.remove(join(dirname(path), name))
    } catch (cause) {
      log.error({ path, cause: words(cause) }, 'old audit logs cannot be removed')
    }
  }

  async #dropFile(): Promise<void> {
    const file = this.#file
    this.#file = null
    try {
      await file?.close()
    } catch {
      // Unwritten events were already dropped and counted.
    }
  }

  #drop(count: number, cause: string): void {
    this.#dependencies.onLost('log', count)
    this.#reporter.dropped(count, cause)
  }
}

function words(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
