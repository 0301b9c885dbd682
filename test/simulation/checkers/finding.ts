import { BrokenInvariant } from '../../../base/assert.ts'

/** A violated claim. `README.md` lists those with a number. */
export class Finding extends BrokenInvariant {
  constructor(claim: string, what: string) {
    super(`${claim}: ${what}`)
  }
}
