/** Ends the parsing of an expression from any depth. */
export class SyntaxFault extends Error {
  /** Index in the source. */
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}
