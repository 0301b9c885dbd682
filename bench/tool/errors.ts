import { CodedError } from '../../base/coded-error.ts'

/**
 * - `no-answer`: no endpoint completed a request of the setup
 * - `not-possible`: these endpoints do not support the selection
 * - `results`: a results file is malformed; the message names it
 * - `interrupted`: the user ended the run
 * - `generator`: a thread of the load generator failed
 */
export class BenchError extends CodedError<
  'no-answer' | 'not-possible' | 'results' | 'interrupted' | 'generator'
> {}
