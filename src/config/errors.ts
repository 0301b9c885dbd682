import { CodedError } from '../../base/coded-error.ts'

/**
 * An invalid flag or configuration file. The message is one line with the flag, its source, and the
 * expected form.
 */
export class ConfigError extends CodedError<'config'> {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super('config', message, options)
  }
}

/** Exit code for an invalid flag or configuration file: a restart does not help. */
export const usageExitCode = 2
