import { CodedError } from '../../base/coded-error.ts'

/**
 * `half-present`, `mismatched`, `exists`, `unusable`: files on disk. `malformed`: content of
 * another type than expected. `refused`: an impossible request.
 */
export type PkiErrorCode = 'half-present' | 'mismatched' | 'exists' | 'unusable' | 'malformed' | 'refused'

export class PkiError extends CodedError<PkiErrorCode> {}
