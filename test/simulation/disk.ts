import { assert, present } from '../../base/assert.ts'
import type { SeededRandom } from '../../base/random.ts'
import { LogError } from '../../raft/log/errors.ts'
import type { LogDisk, LogFile } from '../../raft/ports.ts'
import { SimulatedFile } from './disk-file.ts'

/** The process crashes here: nothing after this line happens. */
export class SimulatedCrash extends Error {
  override readonly name = 'SimulatedCrash'
}

export type DiskOperation =
  'open' | 'write' | 'truncate' | 'sync' | 'rename' | 'remove' | 'sync-directory' | 'read'

export type DiskCounters = Readonly<Record<DiskOperation, number>> & { readonly bytesWritten: number }

/** The call never returns: its thread waits until the process ends. */
export class SimulatedStall extends Error {
  override readonly name = 'SimulatedStall'
}

export type DiskFaultCode = 'disk-full' | 'io'

/** Callbacks of a disk to the process that uses it. */
export interface DiskUser {
  /** The operation is about to start, or is done. @returns whether the process crashes here */
  step(operation: DiskOperation, side: 'before' | 'after'): boolean
  /** The thread waits in this call for this long; Infinity: forever. */
  waits(ms: number): void
  /** A fault took effect. */
  met(fault: `disk-${DiskOperation}-${DiskFaultCode}`): void
}

/**
 * A disk that loses unsynced data. In a crash each unsynced write is independently kept, lost, or
 * kept in part: whole sectors, or everything up to some byte. Unsynced creations, renames and
 * removals survive up to some point, in order.
 */
export class SimulatedDisk implements LogDisk {
  readonly #random: SeededRandom
  #now = new Map<string, SimulatedFile>()
  #durable = new Map<string, SimulatedFile>()
  #changes: (() => void)[] = []
  #counters: Record<DiskOperation, number> & { bytesWritten: number }
  #operationsLeft: number | null = null
  #faults: { operation: DiskOperation; after: number; code: DiskFaultCode }[] = []
  #stallMs: number | null = null
  #generation = 0
  /** The process that uses it; null: none. */
  user: DiskUser | null = null

  constructor(random: SeededRandom) {
    this.#random = random
    this.#counters = noCounts()
  }

  get counters(): DiskCounters {
    return { ...this.#counters }
  }

  /** Number of modifying operations so far: each is a possible crash point. */
  get steps(): number {
    const { read, open, bytesWritten, ...changing } = this.#counters
    assert(read + open + bytesWritten >= 0, 'counters only grow')
    return Object.values(changing).reduce((sum, count) => sum + count, 0)
  }

  list(): readonly string[] {
    return [...this.#now.keys()]
  }

  open(name: string, mode: 'create' | 'existing'): LogFile {
    this.#begin('open', name)
    const found = this.#now.get(name)
    if (mode === 'existing') return this.#handle(name, present(found, `${name} is there`))
    assert(found === undefined, `${name} is new`)
    const file = new SimulatedFile()
    this.#now.set(name, file)
    this.#changes.push(() => this.#durable.set(name, file))
    return this.#handle(name, file)
  }

  rename(from: string, to: string): void {
    this.#begin('rename', from)
    const file = present(this.#now.get(from), `${from} is there`)
    this.#now.delete(from)
    this.#now.set(to, file)
    this.#changes.push(() => {
      this.#durable.delete(from)
      this.#durable.set(to, file)
    })
    this.#done('rename', to)
  }

  remove(name: string): void {
    this.#begin('remove', name)
    assert(this.#now.delete(name), `${name} is there`)
    this.#changes.push(() => this.#durable.delete(name))
    this.#done('remove', name)
  }

  syncDirectory(): void {
    this.#begin('sync-directory', '.')
    for (const change of this.#changes) change()
    this.#changes = []
    this.#done('sync-directory', '.')
  }

  /**
   * After `after` more operations of this kind the next one fails, and so do all later ones until
   * `heal`.
   */
  fail(operation: DiskOperation, code: DiskFaultCode, after = 0): void {
    this.#faults.push({ operation, after, code })
  }

  /**
   * The next sync takes this long, in virtual ms; Infinity: it never returns, and the written data
   * stays unsynced.
   */
  stall(ms: number): void {
    this.#stallMs = ms
  }

  heal(): void {
    this.#faults = []
    this.#operationsLeft = null
    this.#stallMs = null
  }

  /**
   * Makes the process crash just before a modifying operation: after `steps` more of them. If the
   * operation is a write, a part of it may be written.
   */
  crashAfter(steps: number): void {
    this.#operationsLeft = steps
  }

  /** The process crashes, the machine does not: the cache survives. Open files are closed. */
  kill(): void {
    this.heal()
    this.user = null
    this.#generation++
  }

  /** A power failure. */
  crash(): void {
    this.kill()
    const kept = this.#random.below(this.#changes.length + 1)
    for (const change of this.#changes.slice(0, kept)) change()
    this.#changes = []
    for (const file of this.#durable.values()) file.losePower(this.#random)
    this.#now = new Map(this.#durable)
  }

  /** Returns the content of a file, valid until its next change. */
  contents(name: string): Uint8Array {
    return present(this.#now.get(name), `${name} is there`).now
  }

  /** Changes the durable content of a file that has no unsynced changes. */
  corrupt(name: string, change: (bytes: Uint8Array) => void): void {
    present(this.#durable.get(name), `${name} is durable`).corrupt(change)
  }

  /** Returns whether the file is linked under this name and durable. */
  settled(name: string): boolean {
    const file = this.#now.get(name)
    return file !== undefined && file === this.#durable.get(name) && file.settled
  }

  /** Removes a file, also durably. To be called while the power is off. */
  drop(name: string): void {
    this.#now.delete(name)
    this.#durable.delete(name)
  }

  /** Removes everything durably, as if the directory had been removed. */
  wipe(): void {
    this.#now.clear()
    this.#durable.clear()
    this.#changes = []
  }

  /** Returns another disk on which the visible contents of this one are durable. */
  copy(random: SeededRandom): SimulatedDisk {
    const other = new SimulatedDisk(random)
    for (const [name, file] of this.#now) other.put(name, file.now)
    return other
  }

  /** Creates a durable file. */
  put(name: string, bytes: Uint8Array): void {
    const file = new SimulatedFile()
    file.write(0, bytes)
    file.sync()
    this.#now.set(name, file)
    this.#durable.set(name, file)
  }

  #handle(name: string, file: SimulatedFile): LogFile {
    const instance = this.#generation
    let open = true
    const check = (operation: DiskOperation): void => {
      assert(open && instance === this.#generation, `${name} is open`)
      this.#begin(operation, name)
    }
    return {
      size: () => file.now.length,
      read: (position, length) => {
        check('read')
        return file.now.slice(position, position + length)
      },
      write: (position, bytes) => {
        // A process that crashes within a write leaves a part of it; so does a full disk.
        try {
          check('write')
        } catch (cause) {
          if (open && instance === this.#generation)
            file.write(position, bytes.subarray(0, this.#random.below(bytes.length + 1)))
          throw cause
        }
        this.#counters.bytesWritten += bytes.length
        file.write(position, bytes)
        this.#done('write', name)
      },
      truncate: (length) => {
        check('truncate')
        file.truncate(length)
        this.#done('truncate', name)
      },
      sync: () => {
        check('sync')
        this.#wait(name)
        file.sync()
        this.#done('sync', name)
      },
      close: () => {
        open = false
      },
    }
  }

  #wait(name: string): void {
    const ms = this.#stallMs
    if (ms === null) return
    this.#stallMs = null
    this.user?.waits(ms)
    if (!Number.isFinite(ms)) throw new SimulatedStall(`the sync of ${name} never ends`)
  }

  #begin(operation: DiskOperation, name: string): void {
    const isStep = operation !== 'read' && operation !== 'open'
    if (isStep && this.#operationsLeft !== null && this.#operationsLeft-- <= 0) {
      this.#operationsLeft = 0
      throw new SimulatedCrash(`the process ends before it can ${operation} ${name}`)
    }
    if (this.user?.step(operation, 'before') === true)
      throw new SimulatedCrash(`the process ends before it can ${operation} ${name}`)
    for (const fault of this.#faults.filter((one) => one.operation === operation)) {
      if (fault.after-- > 0) continue
      this.user?.met(`disk-${operation}-${fault.code}`)
      throw new LogError(fault.code, `cannot ${operation} ${name}: injected (${fault.code})`)
    }
    this.#counters[operation]++
  }

  #done(operation: DiskOperation, name: string): void {
    if (this.user?.step(operation, 'after') === true)
      throw new SimulatedCrash(`the process ends after its ${operation} of ${name}`)
  }
}

function noCounts(): Record<DiskOperation, number> & { bytesWritten: number } {
  return {
    open: 0,
    write: 0,
    truncate: 0,
    sync: 0,
    rename: 0,
    remove: 0,
    'sync-directory': 0,
    read: 0,
    bytesWritten: 0,
  }
}
