/** Returns a text as a literal in double quotes, which is safe to print. */
export function quoteText(text: string): string {
  return `"${Array.from(text, (character) => ESCAPES[character] ?? character).join('')}"`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}
