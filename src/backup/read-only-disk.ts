import type { LogDisk, LogFile } from '../../raft/index.ts'

/**
 * Log files for inspection: the repairs, writes and removals that opening a log requests are
 * ignored.
 */
export class ReadOnlyDisk implements LogDisk {
  readonly #disk: LogDisk

  constructor(disk: LogDisk) {
    this.#disk = disk
  }

  list(): readonly string[] {
    return this.#disk.list()
  }

  open(name: string, mode: 'create' | 'existing'): LogFile {
    const file = mode === 'create' ? null : this.#disk.open(name, mode)
    return {
      size: () => file?.size() ?? 0,
      read: (position, length) => file?.read(position, length) ?? new Uint8Array(0),
      write: () => undefined,
      truncate: () => undefined,
      sync: () => undefined,
      close: () => file?.close(),
    }
  }

  rename(): void {}

  remove(): void {}

  syncDirectory(): void {}
}
