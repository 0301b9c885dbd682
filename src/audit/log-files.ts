/** Files as the audit log needs them. `src/host` has the machine's. All of it may reject with an Error of the operating system. */
export interface LogFiles {
  /** Made when it is not there, with the directories above it; what is there stays. */
  open(path: string): Promise<LogFile>
  rename(from: string, to: string): Promise<void>
  /** Names in the directory. */
  list(directory: string): Promise<readonly string[]>
  remove(path: string): Promise<void>
}

/** Takes one call at a time. */
export interface LogFile {
  /** Bytes that are in it. */
  readonly size: number
  /** All of it or, as far as the disk lets us take back what was begun, nothing. Durable only when the system sees to it. */
  append(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
}
