import { CodedError } from '../../base/coded-error.ts'

/**
 * The reason why a snapshot or data directory cannot be used. The message is one line with the
 * remedy.
 *
 * - `not-a-snapshot`: the file is not a snapshot, or cannot be read
 * - `newer-format`: a later version of this program wrote it
 * - `damaged`: its content was changed
 * - `incomplete`: its end is missing
 * - `secret`: the passphrase or key is missing, wrong or not needed
 * - `refused`: the operation is unsafe, or not possible with these files
 */
export type BackupErrorCode =
  'not-a-snapshot' | 'newer-format' | 'damaged' | 'incomplete' | 'secret' | 'refused'

export class BackupError extends CodedError<BackupErrorCode> {}
