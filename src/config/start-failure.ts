import { Failure } from '../../base/failure.ts'

/**
 * Why a server did not start. The message is the one line its operator reads; exit code by code:
 * - `usage` (2): a flag or a file says something that cannot be
 * - `data-directory` (1): it belongs to somebody else, or is of a newer format
 * - `keys` (1): certificates or keys are missing or do not fit
 * - `address` (1): a port is taken
 * - `join` (1): no member of the cluster let it in for now
 */
export type StartFailureCode = 'usage' | 'data-directory' | 'keys' | 'address' | 'join'

export class StartFailure extends Failure<StartFailureCode> {}
