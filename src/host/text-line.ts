/**
 * A line of the log for people: `2026-11-22T19:00:00.000Z INFO n1 serving url=https://127.0.0.1:6443 id=7`. Nothing that
 * a field holds can begin another line or pass for another field.
 *
 * @param json as the logger writes it
 */
export function textLine(json: string): string {
  const { time, level, member, msg, ...fields } = JSON.parse(json) as Readonly<Record<string, unknown>>
  const words = [time, String(level).toUpperCase(), member, msg].filter((word) => word !== undefined)
  const said = words.map((word) => printable(typeof word === 'string' ? word : JSON.stringify(word)))
  const more = Object.entries(fields).map(([name, value]) => `${printable(name)}=${valueText(value)}`)
  return `${[...said, ...more].join(' ')}\n`
}

/** In quotes, unless it is one plain word. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)
  return printable(text)
}

/** Control characters, also those that move the cursor or turn the direction of writing, as escapes. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => {
    return `\\u${char.codePointAt(0)?.toString(16).padStart(4, '0') ?? ''}`
  })
}
