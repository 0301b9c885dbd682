/** Returns the word most similar to `given`. @returns null when no word is close */
export function nearest(given: string, words: readonly string[]): string | null {
  const best = mostLike(given, words)
  return best !== null && best.distance <= Math.max(2, Math.floor(given.length / 2)) ? best.word : null
}

/**
 * Returns the word most similar to `given`, at any distance.
 *
 * @returns null when there are no words
 */
export function mostLike(
  given: string,
  words: readonly string[],
): { readonly word: string; readonly distance: number } | null {
  let best: { readonly word: string; readonly distance: number } | null = null
  for (const word of words) {
    const distance = editDistance(given, word)
    if (best === null || distance < best.distance) best = { word, distance }
  }
  return best
}

/** Returns the number of letters to insert, remove or replace (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
