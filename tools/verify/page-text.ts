/** Escapes text from servers and files for HTML. */
export function text(words: string): string {
  return words.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
