import { CodedError } from '../../base/coded-error.ts'

/**
 * - `no-answer`: a request of the setup did not succeed, or calls did not succeed again in time
 *   after a fault
 * - `not-possible`: these endpoints or this machine cannot run the selected loads
 * - `results`: a results file is malformed; the message names it
 * - `interrupted`: the run was ended early
 * - `generator`: a thread of the load generator failed, or one of its jobs
 */
export class BenchError extends CodedError<
  'no-answer' | 'not-possible' | 'results' | 'interrupted' | 'generator'
> {}
