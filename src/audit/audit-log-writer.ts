import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'
import { backupName, expiredBackups } from './backups.ts'
import type { LogFile, LogFiles } from './log-files.ts'
import { DroppedEventReporter } from './dropped-event-reporter.ts'
import type { DroppedEventReporterParts } from './dropped-event-reporter.ts'

export type AuditLogOptions = {
  readonly path: string
  /** A file that would grow beyond it is put aside. Infinity: never. */
  readonly bytesMax: number
  /** Of files put aside. 0: all stay. */
  readonly backupsMax: number
  /** 0: of any age. */
  readonly backupMsMax: number
}

export type AuditLogParts = {
  readonly clock: Clock
  readonly files: LogFiles
  readonly log: DroppedEventReporterParts['log']
  /** Lines that could not be written, or did not fit. */
  readonly onLost: (plugin: 'log' | 'buffered', count: number) => void
}

type Waiter = { readonly upTo: number; readonly wake: (written: boolean) => void }

/**
 * Writes lines in the background, so that no disk keeps the thread of its callers: all that came in while the last write was under
 * way are the next one. What cannot be written is lost, counted and told; what comes later is tried again, on a file opened anew.
 *
 * Bounded in lines and bytes. When full: the line is dropped and counted. Who wants to lose none waits while `isFull`, which it is
 * at half of that, so that those who are under way already still find room.
 */
export class AuditLogWriter {
  readonly #options: AuditLogOptions
  readonly #parts: AuditLogParts
  #queue: Uint8Array[] = []
  #queuedBytes = 0
  /** How many lines were taken, and how many of them are written or lost. */
  #taken = 0
  #settled = 0
  /** In order of `upTo`. */
  readonly #waiters = new Set<Waiter>()
  #file: LogFile | null
  #rotateAt: number
  #writing: Promise<void> | null = null
  readonly #reporter: DroppedEventReporter

  /** @param file at `path`, open */
  constructor(file: LogFile, options: AuditLogOptions, parts: AuditLogParts) {
    this.#file = file
    this.#options = options
    this.#parts = parts
    this.#rotateAt = options.bytesMax
    this.#reporter = new DroppedEventReporter({
      ...{ clock: parts.clock, log: parts.log, where: { path: options.path } },
      remedy: 'make room on the disk of the audit log, and give access to it',
    })
  }

  /** @throws Error of the operating system */
  static async open(options: AuditLogOptions, parts: AuditLogParts): Promise<AuditLogWriter> {
    const writer = new AuditLogWriter(await parts.files.open(options.path), options, parts)
    await writer.#removeExpired()
    return writer
  }

  get isFull(): boolean {
    return (
      this.#queue.length >= limits.auditBufferLinesMax / 2 ||
      this.#queuedBytes >= limits.auditBufferBytesMax / 2
    )
  }

  /** @param line with its end @returns false: there is no room for it */
  add(line: Uint8Array): boolean {
    const { auditBufferLinesMax, auditBufferBytesMax } = limits
    if (
      this.#queue.length >= auditBufferLinesMax ||
      this.#queuedBytes + line.byteLength > auditBufferBytesMax
    ) {
      this.#parts.onLost('buffered', 1)
      this.#reporter.dropped(1, 'too many of them wait to be written')
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
   * Calls `wake` when all that was added so far is written, or was lost.
   *
   * @returns how to wait no longer
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

  /** Writes what waits, but for no longer than a disk may take. Nothing may be added afterwards. */
  async close(): Promise<void> {
    const { clock } = this.#parts
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
        this.#drop(this.#taken - this.#settled, 'the member ends and the disk does not answer')
        return
      }
    }
    await this.#file?.close()
    this.#file = null
  }

  async #writeAll(): Promise<void> {
    // Later in this turn more may come, and one write is enough for all of it.
    await Promise.resolve()
    while (this.#queue.length > 0) await this.#writeSome()
  }

  async #writeSome(): Promise<void> {
    const room = await this.#prepareFile()
    const lines = this.#takeLines(room)
    const cause = await this.#append(Buffer.concat(lines))
    if (cause !== null) this.#drop(lines.length, cause)
    else if (!this.isFull) this.#reporter.recovered()
    this.#settle(lines.length, cause === null)
  }

  /** @returns why it is not written; null: it is */
  async #append(bytes: Uint8Array): Promise<string | null> {
    try {
      this.#file ??= await this.#parts.files.open(this.#options.path)
      await this.#file.append(bytes)
      return null
    } catch (cause) {
      await this.#dropFile()
      return words(cause)
    }
  }

  /** So many as fit, and at least one. */
  #takeLines(room: number): readonly Uint8Array[] {
    let count = 0
    let bytes = 0
    for (const line of this.#queue) {
      if (count > 0 && bytes + line.byteLength > room) break
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

  /** Puts a full file aside. @returns bytes that the next write may have */
  async #prepareFile(): Promise<number> {
    const file = this.#file
    const next = this.#queue[0]?.byteLength ?? 0
    if (file !== null && file.size > 0 && file.size + next > this.#rotateAt) await this.#rotate(file.size)
    const left = this.#rotateAt - (this.#file?.size ?? 0)
    return Math.min(left, limits.auditWriteBytesMax)
  }

  async #rotate(size: number): Promise<void> {
    const { files, log } = this.#parts
    const { path, bytesMax } = this.#options
    try {
      await this.#dropFile()
      await files.rename(path, await this.#freePath())
      this.#rotateAt = bytesMax
    } catch (cause) {
      // It goes on growing, as what happens has to be written somewhere, and is tried again when it has doubled.
      this.#rotateAt = size + bytesMax
      log.error({ path, cause: words(cause) }, 'the audit log is full and cannot be put aside: it grows on')
    }
    await this.#removeExpired()
  }

  /** Two files put aside in one millisecond must not become one. */
  async #freePath(): Promise<string> {
    const { path } = this.#options
    const directory = dirname(path)
    const there = new Set(await this.#parts.files.list(directory))
    let wallMs = this.#parts.clock.wallMs()
    while (there.has(backupName(basename(path), wallMs))) wallMs++
    return join(directory, backupName(basename(path), wallMs))
  }

  async #removeExpired(): Promise<void> {
    const { files, clock, log } = this.#parts
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
      // What it has not taken is lost already, and counted.
    }
  }

  #drop(count: number, cause: string): void {
    this.#parts.onLost('log', count)
    this.#reporter.dropped(count, cause)
  }
}

function words(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
