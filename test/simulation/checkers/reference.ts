import type { Entry } from '../../../raft/index.ts'
import { digestOf } from '../../../src/store/machine/digest.ts'
import { hashText } from '../../../src/store/machine/hash.ts'
import { Machine } from '../../../src/store/machine/machine.ts'
import { emptyState } from '../../../src/store/machine/state.ts'

/** A session that no process has. */
const noMember = -1

/**
 * Computes the digest that every state has to have: applies each committed entry once and
 * completely, without disk, restart or snapshot. Unlike `Truth` it uses the code of the store, so
 * it detects only members that applied something else, not bugs in that code.
 */
export class Reference {
  readonly #machine = new Machine(emptyState())
  /** The digest after each index; there is no digest at index 0. */
  readonly #digests: string[] = ['']

  /** Applies the next committed entry. */
  committed(entry: Entry): void {
    this.#machine.apply([entry], noMember)
    this.#machine.takeChanges()
    this.#digests.push(hashText(digestOf(this.#machine.state)))
  }

  get storage(): {
    readonly level: number
    readonly usedBytes: number
    readonly alarm: boolean
    readonly revision: number
  } {
    const { featureLevel: level, usage, storageAlarm: alarm, revision } = this.#machine.state
    return { level, usedBytes: usage.bytes, alarm, revision }
  }

  /** @returns whether a state at an index may have this digest */
  agrees(index: number, digest: string): boolean {
    const known = this.#digests[index]
    return index === 0 || known === undefined || known === digest
  }
}
