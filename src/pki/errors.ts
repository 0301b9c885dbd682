import { Failure } from '../../base/failure.ts'

/**
 * `half-present`, `mismatched`, `exists`, `unusable`: files on disk. `malformed`: not what its name
 * says. `refused`: asked for the impossible.
 */
export type PkiFailureCode = 'half-present' | 'mismatched' | 'exists' | 'unusable' | 'malformed' | 'refused'

export class PkiFailure extends Failure<PkiFailureCode> {}
