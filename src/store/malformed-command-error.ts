import { CodedError } from '../../base/coded-error.ts'

/** The bytes are not a command that this program supports. */
export class MalformedCommandError extends CodedError<'command-malformed'> {
  constructor(what: string) {
    super('command-malformed', `malformed command: ${what}`)
  }
}
