import { CodedError } from '../../base/coded-error.ts'

/**
 * The reason why a server did not start. The message is one line for the operator. Codes and exit
 * codes:
 * - `usage` (2): a flag or file is invalid, or no retry of the join request can succeed
 * - `data-directory` (1): it belongs to another member or process, is damaged, cannot be written,
 *   or has a newer format
 * - `keys` (1): certificates or keys are missing, cannot be used, or do not match
 * - `address` (1): a port cannot be opened
 * - `join` (1): no member accepted the join request in time, or an answer is not understood
 */
export type StartErrorCode = 'usage' | 'data-directory' | 'keys' | 'address' | 'join'

export class StartError extends CodedError<StartErrorCode> {}
