/*
 * Splits a JSON object without parsing its values, so that they are written back exactly.
 * `JSON.parse` would round whole numbers beyond 2^53.
 */

/** The members of an object in order: name, and the text of its value. */
export type JsonSpans = ReadonlyMap<string, string>

/** @param text valid JSON without whitespace, as stored. @returns empty when it is not an object */
export function spansOf(text: string): Map<string, string> {
  const spans = new Map<string, string>()
  if (!text.startsWith('{') || text === '{}') return spans
  for (let at = 1; at < text.length;) {
    const colon = endOfString(text, at)
    const end = endOfValue(text, colon + 1)
    spans.set(JSON.parse(text.slice(at, colon)) as string, text.slice(colon + 1, end))
    // After a comma or the last brace.
    at = end + 1
  }
  return spans
}

export function textOfSpans(spans: JsonSpans): string {
  return `{${[...spans].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

/** @returns the position after the string that begins at `from` */
function endOfString(text: string, from: number): number {
  for (let at = from; ;) {
    const quote = text.indexOf('"', at + 1)
    if (quote === -1) return text.length
    let escapes = quote
    while (text[escapes - 1] === '\\') escapes--
    if ((quote - escapes) % 2 === 0) return quote + 1
    at = quote
  }
}

function endOfValue(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '"') at = endOfString(text, at) - 1
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']' || char === ',') {
      if (depth === 0) return at
      if (char !== ',') depth--
    }
  }
  return text.length
}
