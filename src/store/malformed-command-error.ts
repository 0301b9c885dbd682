import { Failure } from '../../base/failure.ts'

/** The bytes are not a command that this program supports. */
export class MalformedCommandError extends Failure<'command-malformed'> {
  constructor(what: string) {
    super('command-malformed', `malformed command: ${what}`)
  }
}
