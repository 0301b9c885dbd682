/**
 * An expected error: it has a code, and a cause where there is one. Errors of all layers extend it.
 * An error crosses one layer at a time and is translated there. Defects of the program are
 * `BrokenInvariant`s instead.
 */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
    this.name = new.target.name
  }
}
