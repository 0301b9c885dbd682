import { Failure } from '../../base/failure.ts'

/**
 * A flag or a configuration file says what cannot be. The message is one line that names the flag, where it
 * was said, and what would be right.
 */
export class ConfigFailure extends Failure<'config'> {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super('config', message, options)
  }
}
