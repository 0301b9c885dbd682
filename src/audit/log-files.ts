/**
 * The files that the audit log needs; `src/host` implements them. All functions may reject with an
 * Error of the operating system.
 */
export interface LogFiles {
  /** Opens the file, and creates it and its directories if needed; existing content stays. */
  open(path: string): Promise<LogFile>
  rename(from: string, to: string): Promise<void>
  /** Names in the directory. */
  list(directory: string): Promise<readonly string[]>
  remove(path: string): Promise<void>
}

/** Accepts one call at a time. */
export interface LogFile {
  /** Current size in bytes. */
  readonly size: number
  /** Appends all bytes or, as far as the disk lets partial writes be removed, none. Not synced. */
  append(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
}
