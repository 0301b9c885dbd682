import type { Entry } from '../../../raft/index.ts'
import { digestOf } from '../../../src/store/machine/digest.ts'
import { hashText } from '../../../src/store/machine/hash.ts'
import { Machine } from '../../../src/store/machine/machine.ts'
import { emptyState } from '../../../src/store/machine/state.ts'

/** The session of no process. */
const noMember = -1

/**
 * The digest that every state has to have: the committed entries, each applied once and completely,
 * without disk, restart or snapshot. Unlike `Truth` it uses the rules of the store, so it detects
 * only members that applied something else.
 */
export class Reference {
  readonly #machine = new Machine(emptyState())
  /** By index; at 0 there is nothing to compare. */
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
