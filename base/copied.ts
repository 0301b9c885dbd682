/**
 * Copies bytes to a position of `target`, if they fit.
 *
 * @returns their length, also if `target` is too short and has nothing of them
 */
export function copied(bytes: Uint8Array, target: Uint8Array, to: number): number {
  if (to + bytes.byteLength <= target.byteLength) target.set(bytes, to)
  return bytes.byteLength
}
