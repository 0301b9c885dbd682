/** Whatever a server or a file says may stand on the page, and nothing of it is markup. */
export function text(words: string): string {
  return words.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
