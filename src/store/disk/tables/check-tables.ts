import { open, readFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseError } from '../../store-errors.ts'
import { liveTables } from './manifest.ts'
import type { LiveTable } from './manifest.ts'
import { footerBytes, isIntact, readFooter, readIndex, trailerBytes } from './table-format.ts'
import type { BlockPlace } from './table-format.ts'
import { Malformed } from './varint-reader.ts'

/**
 * Verifies every checksum in the tables of a database before LevelDB opens it. LevelDB as built
 * here does not verify them when it reads, and some damaged blocks crash the process, at every
 * start.
 *
 * Other damage (no tables, missing or malformed manifest, missing table) is reported by LevelDB.
 *
 * @param directory of one database, which must be closed
 * @throws DatabaseError `damaged`
 */
export async function checkTables(directory: string): Promise<void> {
  for (const table of await tablesOf(directory)) {
    const file = await openTable(directory, table)
    if (file === null) continue
    try {
      await checkTable(file, table.bytes)
    } catch (cause) {
      if (cause instanceof Malformed) {
        throw new DatabaseError('damaged', `table ${nameOf(table, 'ldb')}: ${cause.message}`, { cause })
      }
      if (!isUnreadable(cause)) throw cause
    } finally {
      await file.close()
    }
  }
}

async function tablesOf(directory: string): Promise<readonly LiveTable[]> {
  try {
    const manifest = (await readFile(join(directory, 'CURRENT'), 'latin1')).trim()
    return /^MANIFEST-\d+$/.test(manifest) ? liveTables(await readFile(join(directory, manifest))) : []
  } catch (cause) {
    if (cause instanceof Malformed || isUnreadable(cause)) return []
    throw cause
  }
}

/** @returns null: LevelDB will report why it cannot be read */
async function openTable(directory: string, table: LiveTable): Promise<FileHandle | null> {
  for (const extension of ['ldb', 'sst']) {
    try {
      return await open(join(directory, nameOf(table, extension)), 'r')
    } catch (cause) {
      if (!isUnreadable(cause)) throw cause
    }
  }
  return null
}

function nameOf({ number }: LiveTable, extension: string): string {
  return `${String(number).padStart(6, '0')}.${extension}`
}

async function checkTable(file: FileHandle, bytes: number): Promise<void> {
  const blocksEnd = bytes - footerBytes
  if (blocksEnd < 0) throw new Malformed('it is too short for a table')
  const window = new FileWindow(file, bytes)
  const checked = async ({ offset, size }: BlockPlace): Promise<Uint8Array> => {
    if (offset + size + trailerBytes > blocksEnd) throw new Malformed(`it has no block at ${offset}`)
    const stored = await window.at(offset, size + trailerBytes)
    if (!isIntact(stored)) throw new Malformed(`the block at ${offset} is not what was written`)
    return stored
  }
  const { metaIndex, index } = readFooter(await window.at(blocksEnd, footerBytes))
  const filters = readIndex(await checked(metaIndex))
  const blocks = readIndex(await checked(index))
  for (const place of [...blocks, ...filters]) await checked(place)
}

/** Reads parts of a file, mostly in ascending order. */
class FileWindow {
  readonly #file: FileHandle
  readonly #fileBytes: number
  #bytes = new Uint8Array(0)
  #offset = 0

  constructor(file: FileHandle, fileBytes: number) {
    this.#file = file
    this.#fileBytes = fileBytes
  }

  /** @returns bytes valid until the next call @throws Malformed at the end of the file */
  async at(offset: number, count: number): Promise<Uint8Array> {
    const begin = offset - this.#offset
    if (begin >= 0 && begin + count <= this.#bytes.byteLength)
      return this.#bytes.subarray(begin, begin + count)
    await this.#load(offset, Math.min(Math.max(count, WINDOW_BYTES), this.#fileBytes - offset))
    if (this.#bytes.byteLength < count) throw new Malformed('it ends early')
    return this.#bytes.subarray(0, count)
  }

  async #load(offset: number, count: number): Promise<void> {
    if (this.#bytes.buffer.byteLength < count) this.#bytes = new Uint8Array(count)
    const buffer = new Uint8Array(this.#bytes.buffer)
    let read = 0
    while (read < count) {
      const { bytesRead } = await this.#file.read(buffer, read, count - read, offset + read)
      if (bytesRead === 0) break
      read += bytesRead
    }
    this.#bytes = buffer.subarray(0, read)
    this.#offset = offset
  }
}

/** Bytes read at a time: many blocks, but short enough not to block the event loop. */
const WINDOW_BYTES = 1024 * 1024

/** Permission and I/O errors are left to LevelDB to report. */
function isUnreadable(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause
}
