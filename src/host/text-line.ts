/**
 * Formats a line of the log for people: `2026-11-22T19:00:00.000Z INFO n1 serving
 * url=https://127.0.0.1:6443 id=7`. No value of a field can begin another line or imitate another
 * field.
 *
 * @param json as the logger writes it
 */
export function textLine(json: string): string {
  const { time, level, member, msg, ...fields } = JSON.parse(json) as Readonly<Record<string, unknown>>
  const words = [time, String(level).toUpperCase(), member, msg].filter((word) => word !== undefined)
  const given = words.map((word) => printable(typeof word === 'string' ? word : JSON.stringify(word)))
  const more = Object.entries(fields).map(([name, value]) => `${printable(name)}=${valueText(value)}`)
  return `${[...given, ...more].join(' ')}\n`
}

/** Quotes the value, unless it is one plain word. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)
  return printable(text)
}

/**
 * Escapes control characters, including those that move the cursor or change the direction of text.
 */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => {
    return `\\u${char.codePointAt(0)?.toString(16).padStart(4, '0') ?? ''}`
  })
}
