/**
 * The tokens of an expression.
 *
 * @source github.com/google/cel-spec/blob/master/doc/langdef.md#syntax
 */
export type Token = {
  /** Index in the source. */
  readonly at: number
} & (
  | { readonly kind: 'name' | 'symbol'; readonly text: string }
  | { readonly kind: 'int' | 'uint' | 'double'; readonly text: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'end' }
)
