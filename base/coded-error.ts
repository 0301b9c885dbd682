/**
 * A wrong that is expected: coded, with cause. Parent of every layer's error. An error crosses one
 * border at a time and is translated there; see `BrokenInvariant` for the other kind of wrong.
 */
export class Failure<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
    this.name = new.target.name
  }
}
