/** Texts as sequences of code points, which is how expressions count characters. */

/**
 * Returns whether a text may have code points of two UTF-16 code units. Takes no time for texts of
 * characters up to 0xFF, which the engine stores in a byte each.
 */
export function mayHavePairs(text: string): boolean {
  return /[\u0100-\uffff]/.test(text)
}

/** Returns the number of code points. */
export function codePointCount(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    if (isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1))) {
      count--
      at++
    }
  }
  return count
}

/** Returns a negative number, zero or a positive number, by the order of code points. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (x === y) continue
    // Code points beyond 0xFFFF are pairs of surrogates, which lie between other units.
    const [xHigh, yHigh] = [isSurrogate(x), isSurrogate(y)]
    return xHigh === yHigh ? x - y : xHigh ? 1 : -1
  }
  return a.length - b.length
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xe000
}
