import { Failure } from '../../base/failure.ts'

/**
 * `unknown-fault`: no fault of that name. `no-plan`: nothing fits into what was asked. `not-healed`: a member did not come
 * back. `links`: the proxies between peers do not do as told.
 * `disk`: the kernel does not.
 */
export class ChaosFailure extends Failure<'unknown-fault' | 'no-plan' | 'not-healed' | 'links' | 'disk'> {}
