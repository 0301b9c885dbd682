import { open } from 'node:fs/promises'

/**
 * Reads a file that another program may replace.
 *
 * @returns null: it is missing, cannot be read, is longer than `bytesMax`, or not a regular file
 */
export async function readSmallFile(path: string, bytesMax: number): Promise<string | null> {
  try {
    const file = await open(path)
    try {
      if (!(await file.stat()).isFile()) return null
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax + 1))
      return bytesRead <= bytesMax ? buffer.toString('utf8', 0, bytesRead) : null
    } finally {
      await file.close()
    }
  } catch {
    return null
  }
}
