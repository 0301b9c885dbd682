/**
 * Returns the index of the last occurrence of a part in a text that begins at or before a start, in
 * linear time: the engine's search takes the product of the lengths for some texts.
 *
 * @returns -1 if the text is not found
 * @source Knuth, Morris and Pratt, "Fast Pattern Matching in Strings", read backwards
 */
export function lastIndexOfText(text: string, part: string, start: number): number {
  const { length } = part
  const end = Math.min(text.length, start + length)
  if (length <= SHORT_MAX) return text.lastIndexOf(part, start)
  if (length > end) return -1
  // For each suffix of the part, the length of the longest shorter prefix that it begins with.
  const borders = new Int32Array(length)
  const partAt = (at: number): number => part.charCodeAt(length - 1 - at)
  const next = (matched: number, unit: number): number => {
    let at = matched
    while (at > 0 && partAt(at) !== unit) at = borders[at - 1] ?? 0
    return partAt(at) === unit ? at + 1 : 0
  }
  for (let at = 1; at < length; at++) borders[at] = next(borders[at - 1] ?? 0, partAt(at))
  let matched = 0
  for (let at = end - 1; at >= 0; at--) {
    matched = next(matched, text.charCodeAt(at))
    if (matched === length) return at
  }
  return -1
}

/** Longer parts are searched here. */
const SHORT_MAX = 16
