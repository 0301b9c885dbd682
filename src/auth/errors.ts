import { CodedError } from '../../base/coded-error.ts'

/**
 * - `token-file-malformed`: a line of the token file is not `token,user,uid[,"group1,group2"]`, or
 *   repeats a token
 * - `unknown-authorization-mode`: this server does not have the mode
 * - `abac-policy-malformed`: a line of the policy file is not a policy, or there are too many
 * - `token-key-unusable`: a key file has no key for service account tokens, or one that is
 *   malformed, encrypted or unsuitable, or there are too many keys
 */
export type AuthErrorCode =
  'token-file-malformed' | 'unknown-authorization-mode' | 'abac-policy-malformed' | 'token-key-unusable'

export class AuthError extends CodedError<AuthErrorCode> {}
