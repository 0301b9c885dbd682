import { BrokenInvariant } from '../../../base/assert.ts'

/** A promise that was not kept, by the name it has in the table of `README.md`. */
export class Finding extends BrokenInvariant {
  constructor(claim: string, what: string) {
    super(`${claim}: ${what}`)
  }
}
