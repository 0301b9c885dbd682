/**
 * Returns a text as one cell of a Markdown table. Options such as `<file>` would otherwise
 * disappear as HTML.
 */
export function cell(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/\\/g, '\\\\')
    .replace(/\|/g, '\\|')
    .replace(/</g, '&lt;')
    .replace(/\*/g, '\\*')
    .replace(/_/g, '\\_')
}
