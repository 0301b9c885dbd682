import { Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Logger } from 'pino'
import type { Clock, Timer } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'
import { diskSpace, probeSyncs } from '../host/disk.ts'
import type { DiskSpace, SyncSpeed } from '../host/disk.ts'

export type DiskCheckDependencies = {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** The election timeout of this cluster, in ms. */
  readonly electionMs: number
}

/** A device that keeps data without power cannot complete a sync faster. */
const believableSyncMs = 0.01
/**
 * Syncs of an election in sequence, from the candidate's own vote to the first entry of its term.
 */
const syncsOfAnElection = 3

/**
 * Measures how fast the disk under the data directory makes small writes durable, and logs the
 * consequences. A disk that cannot be measured is logged as such; the log will meet the same error.
 */
export function probeDisk(
  directory: string,
  { clock, log, electionMs }: DiskCheckDependencies,
): SyncSpeed | null {
  let speed: SyncSpeed
  try {
    speed = probeSyncs(directory, clock, {
      writes: limits.diskProbeWrites,
      writeBytes: limits.diskProbeWriteBytes,
      msMax: limits.diskProbeMsMax,
    })
  } catch (cause) {
    log.warn(
      { directory, cause: cause instanceof Error ? cause.message : String(cause) },
      'disk not measured',
    )
    return null
  }
  log.info({ directory, ...rounded(speed) }, 'disk measured: synced writes of 4 KiB')
  const concern = concernAbout(speed, electionMs)
  if (concern !== null) log.warn({ directory, ...rounded(speed) }, concern)
  return speed
}

/** Returns what the operator should know about a disk of this speed, or null. */
export function concernAbout({ p50Ms, p99Ms }: SyncSpeed, electionMs: number): string | null {
  const boundMs = electionMs / limits.diskSyncsPerElectionMin
  if (p99Ms > boundMs) {
    return (
      `the disk is slow: 1 of 100 syncs takes ${ms(p99Ms)} or more, the bound is ${ms(boundMs)} ` +
      `(--election-timeout / ${limits.diskSyncsPerElectionMin}). A write waits for a sync on a majority of members, ` +
      `an election for ${syncsOfAnElection} in a row: give the data directory a faster disk, or one of its own`
    )
  }
  if (p50Ms < believableSyncMs) {
    return (
      `a sync takes ${ms(p50Ms)}: this is memory, or a disk that does not wait for its medium. ` +
      'Acknowledged writes may be lost when the power fails on a majority of members at once'
    )
  }
  return null
}

/**
 * Watches the free space of the disk of the data directory. Readiness does not depend on it: the
 * member can still serve.
 */
export class DiskSpaceWatch {
  readonly #directory: string
  readonly #dependencies: Pick<DiskCheckDependencies, 'clock' | 'log'>
  readonly #read: (path: string) => Promise<DiskSpace>
  #timer: Timer | null = null
  #looking = false
  #space: DiskSpace | null = null
  #low = false
  #loggedMs = Number.NEGATIVE_INFINITY

  /** @param read reads from the operating system; replaced in tests */
  constructor(
    directory: string,
    dependencies: Pick<DiskCheckDependencies, 'clock' | 'log'>,
    read = diskSpace,
  ) {
    this.#directory = directory
    this.#dependencies = dependencies
    this.#read = read
  }

  /** The last measurement; null before the first one, or where it is not available. */
  get space(): DiskSpace | null {
    return this.#space
  }

  start(): void {
    this.#timer = this.#dependencies.clock.every(limits.diskSpaceLookMs, () => void this.look())
    void this.look()
  }

  close(): void {
    this.#timer?.cancel()
  }

  /** While the disk does not answer, no second request is made. */
  async look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    try {
      this.#space = await this.#read(this.#directory)
      this.#log(this.#space)
    } catch {
      this.#space = null
    } finally {
      this.#looking = false
    }
  }

  #log({ freeBytes, sizeBytes }: DiskSpace): void {
    const { clock, log } = this.#dependencies
    const low = freeBytes < limits.diskFreeBytesMin
    const fields = { directory: this.#directory, freeBytes, sizeBytes, wantedBytes: limits.diskFreeBytesMin }
    if (low && clock.monotonicMs() - this.#loggedMs >= limits.diskSpaceLogMs) {
      this.#loggedMs = clock.monotonicMs()
      log.warn(fields, 'the disk is nearly full: free space, as this member ends when it is full')
    } else if (this.#low && !low) {
      this.#loggedMs = Number.NEGATIVE_INFINITY
      log.info(fields, 'the disk has free space again')
    }
    this.#low = low
  }
}

/** Measures and watches the disk of one member. */
export class MemberDisk {
  readonly #speed: SyncSpeed | null
  readonly #watch: DiskSpaceWatch

  /**
   * Measures the disk. After the test file is created, that takes at most `limits.diskProbeMsMax`
   * and one sync.
   */
  constructor(directory: string, dependencies: DiskCheckDependencies) {
    this.#speed = probeDisk(directory, dependencies)
    this.#watch = new DiskSpaceWatch(directory, dependencies)
    this.#watch.start()
  }

  register(metrics: MetricsRegistry): void {
    registerDiskMetrics(metrics, this.#speed, this.#watch)
  }

  close(): void {
    this.#watch.close()
  }
}

function registerDiskMetrics(
  register: MetricsRegistry,
  speed: SyncSpeed | null,
  watch: DiskSpaceWatch,
): void {
  if (speed !== null) {
    const gauge = new Gauge({
      name: 'orch_disk_probe_sync_seconds',
      help: 'Duration of synced writes of 4 KiB, measured at the start.',
      labelNames: ['quantile'],
      registers: [register],
    })
    gauge.set({ quantile: '0.5' }, speed.p50Ms / 1000)
    gauge.set({ quantile: '0.99' }, speed.p99Ms / 1000)
    gauge.set({ quantile: '1' }, speed.maxMs / 1000)
  }
  const space = (name: string, help: string, of: (space: DiskSpace) => number): void => {
    new Gauge({
      name,
      help,
      registers: [register],
      collect() {
        this.set(watch.space === null ? Number.NaN : of(watch.space))
      },
    })
  }
  space('orch_disk_free_bytes', 'Free bytes on the disk of the data directory.', ({ freeBytes }) => freeBytes)
  space('orch_disk_size_bytes', 'Size of the disk of the data directory.', ({ sizeBytes }) => sizeBytes)
}

function rounded({ syncs, p50Ms, p99Ms, maxMs, bytesPerSecond }: SyncSpeed) {
  const micro = (value: number): number => Math.round(value * 1000) / 1000
  return {
    syncs,
    p50Ms: micro(p50Ms),
    p99Ms: micro(p99Ms),
    maxMs: micro(maxMs),
    bytesPerSecond: Math.round(bytesPerSecond),
  }
}

function ms(value: number): string {
  return `${value < 1 ? value.toFixed(3) : value.toFixed(1)} ms`
}
