import { Failure } from '../../base/failure.ts'

/**
 * - `token-file-malformed`: a line of the token file is not `token,user,uid[,"group1,group2"]`
 * - `unknown-authorization-mode`: the mode is not one this server has
 */
export type AuthFailureCode = 'token-file-malformed' | 'unknown-authorization-mode'

export class AuthFailure extends Failure<AuthFailureCode> {}
