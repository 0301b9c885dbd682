import { shortText } from './short-text.ts'

/** Returns how many bytes a text takes as JSON in UTF-8, quotes included. */
export function jsonBytes(text: string): number {
  let bytes = 2
  for (let at = 0; at < text.length; at++) bytes += jsonBytesAt(text, at)
  return bytes
}

/**
 * Returns a text that takes at most `bytesMax` bytes as JSON: the text itself, or a copy of its
 * beginning with `...` appended.
 */
export function cutToJsonBytes(text: string, bytesMax: number): string {
  let left = bytesMax - QUOTES_AND_DOTS
  for (let at = 0; at < text.length; at++) {
    left -= jsonBytesAt(text, at)
    if (left < 0) return shortText(text, at)
  }
  return text
}

const QUOTES_AND_DOTS = 5

/** Returns the JSON size of one UTF-16 code unit; a lone surrogate is written as an escape. */
function jsonBytesAt(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit < 0x20)
    return unit === 0x08 || unit === 0x09 || unit === 0x0a || unit === 0x0c || unit === 0x0d ? 2 : 6
  if (unit === 0x22 || unit === 0x5c) return 2
  if (unit < 0x80) return 1
  if (unit < 0x800) return 2
  return unit >= 0xd800 && unit <= 0xdfff ? surrogateBytes(text, at) : 3
}

function surrogateBytes(text: string, at: number): number {
  const isLow = text.charCodeAt(at) >= 0xdc00
  const other = text.charCodeAt(isLow ? at - 1 : at + 1)
  const isPair = isLow ? other >= 0xd800 && other <= 0xdbff : other >= 0xdc00 && other <= 0xdfff
  return isPair ? 2 : 6
}
