import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'

/** How fast a disk makes small writes durable. Times in ms. */
export type SyncSpeed = {
  readonly syncs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly bytesPerSecond: number
}

export type ProbeBounds = {
  readonly writes: number
  readonly writeBytes: number
  /** Ms after the first write from which on no other write begins. */
  readonly msMax: number
}

/** Bytes. */
export type DiskSpace = { readonly freeBytes: number; readonly sizeBytes: number }

const probeName = 'disk-probe'

/**
 * Writes one block after another over existing zeros, and makes each durable, as the log does. The
 * file is deleted afterwards; one that a crash left behind is overwritten.
 *
 * @throws Error of the operating system
 */
export function probeSyncs(directory: string, clock: Clock, bounds: ProbeBounds): SyncSpeed {
  const { writes, writeBytes, msMax } = bounds
  const path = join(directory, probeName)
  const file = openSync(path, 'w', 0o600)
  try {
    writeSync(file, new Uint8Array(writes * writeBytes), 0, writes * writeBytes, 0)
    fdatasyncSync(file)
    const block = new Uint8Array(writeBytes).fill(0xa5)
    const times: number[] = []
    const beganMs = clock.monotonicMs()
    let nowMs = beganMs
    for (let at = 0; at < writes && nowMs - beganMs < msMax; at++) {
      const startMs = nowMs
      writeSync(file, block, 0, writeBytes, at * writeBytes)
      fdatasyncSync(file)
      nowMs = clock.monotonicMs()
      times.push(nowMs - startMs)
    }
    return speedOf(times, writeBytes)
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}

/** @param times duration of each write, in ms; at least one */
export function speedOf(times: readonly number[], writeBytes: number): SyncSpeed {
  const sorted = [...times].sort((a, b) => a - b)
  const total = sorted.reduce((sum, ms) => sum + ms, 0)
  const quantile = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return {
    syncs: sorted.length,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    maxMs: quantile(1),
    bytesPerSecond: total > 0 ? (sorted.length * writeBytes * 1000) / total : Infinity,
  }
}

/**
 * Returns the space that an unprivileged process may still use where `path` is. Does not block this
 * thread.
 */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}
