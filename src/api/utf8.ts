/**
 * Returns the size in UTF-8. A lone surrogate counts three bytes, as encoders replace it with
 * U+FFFD.
 */
export function utf8Length(text: string, end: number = text.length): number {
  let bytes = 0
  for (let at = 0; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (unit >= 0xd800 && unit < 0xdc00 && at + 1 < end && isLow(text.charCodeAt(at + 1))) {
      bytes += 4
      at++
    } else bytes += 3
  }
  return bytes
}

/** Replaces each lone surrogate, which UTF-8 cannot encode, with U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, '\ufffd')
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
