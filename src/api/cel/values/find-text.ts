/**
 * Search for texts in linear time. The time of JavaScript's own search is proportional to the
 * product of both lengths for some texts, so it is used for short parts only.
 *
 * @source Knuth, Morris and Pratt, "Fast Pattern Matching in Strings"
 */

/** Returns the index of the first occurrence at or after a start. @returns -1 if not found */
export type TextSearch = (text: string, start: number) => number

/** Prepares the search for a part, for any number of searches. */
export function searchFor(part: string): TextSearch {
  const { length } = part
  if (length <= SHORT_MAX) return (text, start) => text.indexOf(part, start)
  let borders: Int32Array | undefined
  return (text, start) => {
    if (length > text.length - start) return -1
    borders ??= bordersOf(part)
    let matched = 0
    for (let at = start; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0
      if (part.charCodeAt(matched) === unit) matched++
      if (matched === length) return at - length + 1
    }
    return -1
  }
}

/** Returns, for each prefix, the length of the longest shorter prefix that it ends with. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length)
  let matched = 0
  for (let at = 1; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0
    if (part.charCodeAt(matched) === unit) matched++
    borders[at] = matched
  }
  return borders
}

/**
 * Returns the index of the last occurrence of a part in a text that begins at or before a start, in
 * linear time.
 *
 * @returns -1 if the part is not found
 * @source the same, read backwards
 */
export function lastIndexOfText(text: string, part: string, start: number): number {
  const { length } = part
  const end = Math.min(text.length, start + length)
  if (length <= SHORT_MAX) return text.lastIndexOf(part, start)
  if (length > end) return -1
  // For each suffix of the part, the length of the longest shorter suffix that it begins with.
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

/** Maximum length of a part that the engine searches for. */
const SHORT_MAX = 16
