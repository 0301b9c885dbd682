import { PkiError } from './errors.ts'

/** @param label such as `CERTIFICATE` @returns text that ends with a line break */
export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** Returns the first block with that label. @throws PkiError `malformed` without one */
export function fromPem(label: string, pem: string): Uint8Array {
  const begin = `-----BEGIN ${label}-----`
  const from = pem.indexOf(begin)
  const to = from < 0 ? -1 : pem.indexOf(`-----END ${label}-----`, from)
  if (to < 0) throw new PkiError('malformed', `no ${label} in PEM text`)
  const body = pem.slice(from + begin.length, to).replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw new PkiError('malformed', `${label} is not base64`)
  return Buffer.from(body, 'base64')
}

export type PemBlock = {
  /** Type of the content, such as `CERTIFICATE`. */
  readonly label: string
  /** Whether the block has headers (`Name: value`). */
  readonly hasHeaders: boolean
  readonly der: Uint8Array
}

/**
 * Returns all blocks of a text; other text is ignored.
 *
 * @throws PkiError `malformed` for a block without an end, or with content that is not base64
 * @source RFC 7468; headers as of RFC 1421
 */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = []
  const begin = /^-----BEGIN ([A-Z0-9 ]{1,64})-----[ \t]*\r?$/gm
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    const label = found[1] ?? ''
    const to = text.indexOf(`-----END ${label}-----`, begin.lastIndex)
    if (to < 0) throw new PkiError('malformed', `the ${label} in PEM text has no end`)
    const lines = text.slice(begin.lastIndex, to).split(/\r?\n/)
    const content = lines.filter((line) => !line.includes(':'))
    const body = content.join('').replace(/\s+/g, '')
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw new PkiError('malformed', `${label} is not base64`)
    blocks.push({ label, hasHeaders: content.length < lines.length, der: Buffer.from(body, 'base64') })
    begin.lastIndex = to
  }
  return blocks
}
