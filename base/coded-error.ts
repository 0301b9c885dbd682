/**
 * An expected error that one layer reports to another: it has a code, and a cause if another error
 * caused it. Each layer converts the errors of the layer below into its own. Defects of the program
 * are `BrokenInvariant`s instead.
 */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
    this.name = new.target.name
  }
}
