import { CodedError } from '../../base/coded-error.ts'

/**
 * - `unknown-fault`: no fault has this name
 * - `no-plan`: no fault fits into the requested duration, or the cluster has too few members
 * - `not-healed`: a member did not recover or stop in time, or ended without a fault
 * - `links`: the proxies between peers failed
 * - `disk`: setting the file size limit failed
 */
export class ChaosError extends CodedError<'unknown-fault' | 'no-plan' | 'not-healed' | 'links' | 'disk'> {}
