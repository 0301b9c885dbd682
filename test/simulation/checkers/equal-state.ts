import { digestOf } from '../../../src/store/machine/digest.ts'
import { hashText } from '../../../src/store/machine/hash.ts'
import type { StoreMachine } from '../../../src/store/store-machine.ts'
import { Finding } from './finding.ts'

/**
 * Members that applied the same entries have the same state, whatever the source of their state.
 */
export class EqualState {
  readonly #digests = new Map<number, { readonly digest: string; readonly member: number }>()
  readonly #applied = new Map<number, number>()
  #compared = 0

  /** Number of comparisons of the states of two members at one index. */
  get compared(): number {
    return this.#compared
  }

  /** A new process begins with the content of its disk. */
  started(member: number): void {
    this.#applied.delete(member)
  }

  applied(member: number, index: number, digest: string): void {
    const before = this.#applied.get(member) ?? 0
    if (index < before)
      throw new Finding('I12 never back', `member ${member} went from index ${before} back to ${index}`)
    this.#applied.set(member, index)
    const known = this.#digests.get(index)
    if (known === undefined) this.#digests.set(index, { digest, member })
    else {
      if (known.member !== member) this.#compared++
      if (known.digest !== digest) {
        const other = `${known.member} had ${known.digest}`
        throw new Finding('I4 equal state', `at index ${index} ${member} has ${digest}, ${other}`)
      }
    }
  }
}

/** Returns the digest of the state of a member, also while it is quarantined. */
export function lastDigest({ lastState }: Pick<StoreMachine, 'lastState'>): string {
  return hashText(digestOf(lastState))
}
