import { CodedError } from '../../base/coded-error.ts'

/**
 * - `unknown-key`: there is no key of that ID
 * - `no-keys`: the leader has not created the first key or authority yet
 * - `full`: there are too many keys that tokens in use may need
 * - `storage`: the storage is full
 * - `too-large`: the keys exceed the size limit of objects
 * - `conflict`: there were concurrent changes
 * - `wrong-phase`: another step of the rotation is to be taken
 * - `feature-level`: members of the cluster may not support the step yet
 */
export type KeyRingErrorCode =
  'unknown-key' | 'no-keys' | 'full' | 'storage' | 'too-large' | 'conflict' | 'wrong-phase' | 'feature-level'

export class KeyRingError extends CodedError<KeyRingErrorCode> {}
