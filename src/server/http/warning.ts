import { limits } from '../../config/limits.ts'

/**
 * Returns the value of a `Warning` header.
 * @source RFC 7234 section 5.5; spec 7
 */
export function warningHeader(text: string): string {
  // A header contains only printable ASCII; a line break would begin another header.
  const plain = text.replace(/[^ -~]+/g, ' ')
  const cut = plain.length > limits.warningCharactersMax ? plain.slice(0, limits.warningCharactersMax) : plain
  return `299 - "${cut.replace(/[\\"]/g, '\\$&')}"`
}
