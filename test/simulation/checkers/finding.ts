import { BrokenInvariant } from '../../../base/assert.ts'

/** A violated claim, named as in the table of `README.md`. */
export class Finding extends BrokenInvariant {
  constructor(claim: string, what: string) {
    super(`${claim}: ${what}`)
  }
}
