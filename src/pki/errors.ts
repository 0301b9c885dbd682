import { Failure } from '../../base/failure.ts'

/**
 * `half-present`, `mismatched`, `exists`, `unusable`: files on disk. `malformed`: content of
 * another type than expected. `refused`: an impossible request.
 */
export type PkiFailureCode = 'half-present' | 'mismatched' | 'exists' | 'unusable' | 'malformed' | 'refused'

export class PkiFailure extends Failure<PkiFailureCode> {}
