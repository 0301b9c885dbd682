/** Returns the message of an error as one line of limited length, to be sent to another thread. */
export function oneLine(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  return text.replaceAll(/\s+/g, ' ').slice(0, 500)
}
