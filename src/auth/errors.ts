import { Failure } from '../../base/failure.ts'

/**
 * - `token-file-malformed`: a line of the token file is not `token,user,uid[,"group1,group2"]`
 * - `unknown-authorization-mode`: this server does not have the mode
 */
export type AuthFailureCode = 'token-file-malformed' | 'unknown-authorization-mode'

export class AuthFailure extends Failure<AuthFailureCode> {}
