import { CodedError } from '../../base/coded-error.ts'

/**
 * - `malformed`: a client configuration is invalid, or has something that is not supported
 * - `unreadable`: one of its files cannot be read
 * - `plugin`: a credential plugin gave no usable credentials
 *
 * Messages never contain credentials.
 */
export class CredentialError extends CodedError<'malformed' | 'unreadable' | 'plugin'> {}
