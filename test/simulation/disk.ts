import { assert, present } from '../../raft/base/assert.ts'
import type { SeededRandom } from '../../raft/base/random.ts'
import { LogFailure } from '../../raft/log/errors.ts'
import type { LogDisk, LogFile } from '../../raft/ports.ts'

/** The process ends here: nothing after this line of it happens. */
export class SimulatedCrash extends Error {
  override readonly name = 'SimulatedCrash'
}

export type DiskOperation =
  'open' | 'write' | 'truncate' | 'sync' | 'rename' | 'remove' | 'sync-directory' | 'read'

export type DiskCounters = Readonly<Record<DiskOperation, number>> & { readonly bytesWritten: number }

const sectorBytes = 512

/**
 * A disk that forgets. What was written and not synced may, in a crash, each on its own, be kept, be lost,
 * or arrive in part: whole sectors, or everything up to some byte. Creations, renames and removals that
 * were not synced survive up to some point, in order.
 */
export class SimulatedDisk implements LogDisk {
  readonly #random: SeededRandom
  #now = new Map<string, SimulatedFile>()
  #durable = new Map<string, SimulatedFile>()
  #changes: (() => void)[] = []
  #counters: Record<DiskOperation, number> & { bytesWritten: number }
  #operationsLeft: number | null = null
  #faults: { operation: DiskOperation; after: number; code: 'disk-full' | 'io' }[] = []
  #life = 0

  constructor(random: SeededRandom) {
    this.#random = random
    this.#counters = noCounts()
  }

  get counters(): DiskCounters {
    return { ...this.#counters }
  }

  /** Operations that change something, so far: each is a place where a process may end. */
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
  }

  remove(name: string): void {
    this.#begin('remove', name)
    assert(this.#now.delete(name), `${name} is there`)
    this.#changes.push(() => this.#durable.delete(name))
  }

  syncDirectory(): void {
    this.#begin('sync-directory', '.')
    for (const change of this.#changes) change()
    this.#changes = []
  }

  /** The next `operation` after `after` more of its kind fails, and so do all after it until `heal`. */
  fail(operation: DiskOperation, code: 'disk-full' | 'io', after = 0): void {
    this.#faults.push({ operation, after, code })
  }

  heal(): void {
    this.#faults = []
    this.#operationsLeft = null
  }

  /** The process ends just before the step after `steps` more; the step's write may still have begun. */
  crashAfter(steps: number): void {
    this.#operationsLeft = steps
  }

  /** The process ends, the machine lives on: the cache survives. Files it had open are closed. */
  kill(): void {
    this.heal()
    this.#life++
  }

  /** The power goes. */
  crash(): void {
    this.kill()
    const kept = this.#random.below(this.#changes.length + 1)
    for (const change of this.#changes.slice(0, kept)) change()
    this.#changes = []
    for (const file of this.#durable.values()) file.losePower(this.#random)
    this.#now = new Map(this.#durable)
  }

  /** What is on the disk now, to be looked at or spoiled. */
  contents(name: string): Uint8Array {
    return present(this.#now.get(name), `${name} is there`).now
  }

  /** Another disk with the same durable contents. */
  copy(random: SeededRandom): SimulatedDisk {
    const other = new SimulatedDisk(random)
    for (const [name, file] of this.#now) other.put(name, file.now)
    return other
  }

  /** Puts a file there, durable. */
  put(name: string, bytes: Uint8Array): void {
    const file = new SimulatedFile()
    file.write(0, bytes)
    file.sync()
    this.#now.set(name, file)
    this.#durable.set(name, file)
  }

  #handle(name: string, file: SimulatedFile): LogFile {
    const life = this.#life
    let open = true
    const check = (operation: DiskOperation): void => {
      assert(open && life === this.#life, `${name} is open`)
      this.#begin(operation, name)
    }
    return {
      size: () => file.now.length,
      read: (position, length) => {
        check('read')
        return file.now.slice(position, position + length)
      },
      write: (position, bytes) => {
        // A process that ends within a write leaves some of it; so does a disk that fills up.
        try {
          check('write')
        } catch (cause) {
          if (open && life === this.#life)
            file.write(position, bytes.subarray(0, this.#random.below(bytes.length + 1)))
          throw cause
        }
        this.#counters.bytesWritten += bytes.length
        file.write(position, bytes)
      },
      truncate: (length) => {
        check('truncate')
        file.truncate(length)
      },
      sync: () => {
        check('sync')
        file.sync()
      },
      close: () => {
        open = false
      },
    }
  }

  #begin(operation: DiskOperation, name: string): void {
    const isStep = operation !== 'read' && operation !== 'open'
    if (isStep && this.#operationsLeft !== null && this.#operationsLeft-- <= 0) {
      this.#operationsLeft = 0
      throw new SimulatedCrash(`the process ends before it can ${operation} ${name}`)
    }
    for (const fault of this.#faults.filter((one) => one.operation === operation)) {
      if (fault.after-- <= 0)
        throw new LogFailure(fault.code, `cannot ${operation} ${name}: injected (${fault.code})`)
    }
    this.#counters[operation]++
  }
}

type Pending =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly length: number }

class SimulatedFile {
  #now: Uint8Array = new Uint8Array(0)
  #durable: Uint8Array = new Uint8Array(0)
  #pending: Pending[] = []

  get now(): Uint8Array {
    return this.#now
  }

  write(position: number, bytes: Uint8Array): void {
    const copy = bytes.slice()
    this.#pending.push({ kind: 'write', position, bytes: copy })
    this.#now = written(this.#now, position, copy)
  }

  truncate(length: number): void {
    this.#pending.push({ kind: 'truncate', length })
    this.#now = this.#now.slice(0, length)
  }

  sync(): void {
    this.#durable = this.#now.slice()
    this.#pending = []
  }

  losePower(random: SeededRandom): void {
    for (const change of this.#pending) this.#durable = survive(this.#durable, change, random)
    this.#pending = []
    this.#now = this.#durable.slice()
  }
}

function survive(bytes: Uint8Array, change: Pending, random: SeededRandom): Uint8Array {
  if (change.kind === 'truncate') return random.chance(0.5) ? bytes.slice(0, change.length) : bytes
  const { position, bytes: fresh } = change
  switch (random.below(4)) {
    case 0:
      return bytes
    case 1:
      return written(bytes, position, fresh)
    case 2:
      return written(bytes, position, fresh.subarray(0, random.below(fresh.length + 1)))
    default: {
      let result = bytes
      for (let at = 0; at < fresh.length;) {
        const end = Math.min(at + sectorBytes - ((position + at) % sectorBytes), fresh.length)
        if (random.chance(0.5)) result = written(result, position + at, fresh.subarray(at, end))
        at = end
      }
      return result
    }
  }
}

function written(file: Uint8Array, position: number, bytes: Uint8Array): Uint8Array {
  if (position + bytes.length > file.length) {
    const larger = new Uint8Array(position + bytes.length)
    larger.set(file)
    larger.set(bytes, position)
    return larger
  }
  const same = file.slice()
  same.set(bytes, position)
  return same
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
