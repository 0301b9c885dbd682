import { limits } from '../../config/limits.ts'

/**
 * Returns the value of a `Warning` header. Each of its characters is one byte of UTF-8, because
 * Node.js sends the characters of a header as single bytes.
 * @source RFC 7234 section 5.5; spec 7
 */
export function warningHeader(text: string): string {
  // A line break would begin another header, and controls could change the terminal of a user.
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return `299 - "${asBytes(plain).replace(/[\\"]/g, '\\$&')}"`
}

function asBytes(text: string): string {
  // A character takes at least one byte, so characters beyond the limit need not be encoded.
  const bytes = Buffer.from(text.slice(0, limits.warningCharactersMax), 'utf8')
  let end = Math.min(bytes.length, limits.warningCharactersMax)
  // Never cuts within a character: a byte 10xxxxxx continues one.
  while (end > 0 && end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('latin1', 0, end)
}
