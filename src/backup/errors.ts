import { Failure } from '../../base/failure.ts'

/**
 * Why a snapshot, or what survived of a cluster, cannot be used. The message is one line that says what to do.
 *
 * - `not-a-snapshot`: the file is something else
 * - `newer-format`: a later version of this program wrote it
 * - `damaged`: it is not as it was written
 * - `incomplete`: its end is missing
 * - `secret`: no passphrase or key was given, or another one
 * - `refused`: it could be done and would do harm
 */
export type BackupFailureCode =
  'not-a-snapshot' | 'newer-format' | 'damaged' | 'incomplete' | 'secret' | 'refused'

export class BackupFailure extends Failure<BackupFailureCode> {}
