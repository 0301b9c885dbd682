/**
 * Authenticated encryption with one key. Changed, exchanged and truncated texts are detected, with
 * every cipher.
 */
export interface Cipher {
  /** @param context bound to the text, and not a part of the result */
  seal(plain: Uint8Array, context: Uint8Array): Uint8Array
  /** @returns null: it was not sealed with this key and context, or was changed */
  open(sealed: Uint8Array, context: Uint8Array): Uint8Array | null
}
