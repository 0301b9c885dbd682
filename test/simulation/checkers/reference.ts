import type { Entry } from '../../../raft/index.ts'
import { digestOf } from '../../../src/store/machine/digest.ts'
import { hashText } from '../../../src/store/machine/hash.ts'
import { Machine } from '../../../src/store/machine/machine.ts'
import { emptyState } from '../../../src/store/machine/state.ts'

/** Of no process. */
const noMember = -1

/**
 * The fingerprint that every state has to have: the committed entries, each applied once, in one
 * piece, without disk, restart or snapshot. Unlike `Truth` it trusts the rules of the store, so it
 * tells only who applied something else.
 */
export class Reference {
  readonly #machine = new Machine(emptyState())
  /** By index; at 0 there is nothing to compare. */
  readonly #digests: string[] = ['']

  /** The next entry, once it is known to be committed. */
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

  /** @returns whether the state behind an index may have this fingerprint */
  agrees(index: number, digest: string): boolean {
    const known = this.#digests[index]
    return index === 0 || known === undefined || known === digest
  }
}
