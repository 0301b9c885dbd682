/** An error as text that may cross to another thread. */
export function oneLine(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  return text.replaceAll(/\s+/g, ' ').slice(0, 500)
}
