/** One record of a comma-separated file, and the line it starts on (from 1). */
export type CsvRecord = { readonly line: number; readonly fields: readonly string[] }

/**
 * Reads comma-separated records: fields may be quoted, a doubled quote inside quotes is a quote,
 * blank lines and lines that begin with `#` are skipped.
 *
 * @returns the records, or the line on which the first malformed record starts
 * @source RFC 4180
 */
export function parseCsv(text: string): readonly CsvRecord[] | { readonly badLine: number } {
  const records: CsvRecord[] = []
  let at = text.startsWith('\uFEFF') ? 1 : 0
  let line = 1
  while (at < text.length) {
    const lineEnd = endOfLine(text, at)
    const first = text.slice(at, lineEnd).trim()
    if (first === '' || first.startsWith('#')) {
      at = lineEnd + 1
      line++
      continue
    }
    const record = parseRecord(text, at)
    if (record === null) return { badLine: line }
    records.push({ line, fields: record.fields })
    for (let k = at; k < record.end; k++) if (text.charCodeAt(k) === NEWLINE) line++
    at = record.end
  }
  return records
}

const NEWLINE = 10

function endOfLine(text: string, at: number): number {
  const found = text.indexOf('\n', at)
  return found === -1 ? text.length : found
}

function parseRecord(text: string, start: number): { fields: string[]; end: number } | null {
  const fields: string[] = []
  let at = start
  for (;;) {
    while (text[at] === ' ' || text[at] === '\t') at++
    const field = text[at] === '"' ? quotedField(text, at) : bareField(text, at)
    if (field === null) return null
    fields.push(field.value)
    at = field.end
    if (text[at] === ',') {
      at++
      continue
    }
    if (text[at] === '\r') at++
    if (at >= text.length) return { fields, end: at }
    return text[at] === '\n' ? { fields, end: at + 1 } : null
  }
}

function bareField(text: string, start: number): { value: string; end: number } | null {
  let end = start
  while (end < text.length && text[end] !== ',' && text[end] !== '\n') {
    if (text[end] === '"') return null
    end++
  }
  const value = text.slice(start, end).replace(/\r$/, '').trim()
  return { value, end }
}

function quotedField(text: string, start: number): { value: string; end: number } | null {
  let value = ''
  let at = start + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return null
    value += text.slice(at, quote)
    if (text[quote + 1] !== '"') {
      let end = quote + 1
      while (text[end] === ' ' || text[end] === '\t') end++
      return { value, end }
    }
    value += '"'
    at = quote + 2
  }
}
