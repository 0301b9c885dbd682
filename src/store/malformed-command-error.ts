import { Failure } from '../../base/failure.ts'

/** The bytes are no command this program knows. */
export class MalformedCommandError extends Failure<'command-malformed'> {
  constructor(what: string) {
    super('command-malformed', `malformed command: ${what}`)
  }
}
