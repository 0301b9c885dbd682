import { Failure } from '../../base/failure.ts'

/**
 * - `no-answer`: no endpoint did what has to be done before anything can be measured
 * - `not-possible`: what was asked for cannot be measured against these endpoints
 * - `results`: a file of results is not understood; the message names it
 * - `interrupted`: somebody ended it
 * - `generator`: a thread of the load generator failed
 */
export class BenchFailure extends Failure<
  'no-answer' | 'not-possible' | 'results' | 'interrupted' | 'generator'
> {}
