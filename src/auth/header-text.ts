const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Returns the text of a header. Names of users and groups are sent as UTF-8. Node.js makes one
 * character of each byte, so without decoding they would name other users and groups.
 *
 * @param value as Node.js returns it
 * @returns null: it is not UTF-8, so different programs would read different names
 */
export function headerText(value: string): string | null {
  if (!/[\x80-\xff]/.test(value)) return value
  try {
    return utf8.decode(Buffer.from(value, 'latin1'))
  } catch {
    return null
  }
}
