import { PkiFailure } from './errors.ts'

/** @param label such as `CERTIFICATE` @returns text that ends in a line break */
export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** The first block of that label. @throws PkiFailure `malformed` when there is none */
export function fromPem(label: string, pem: string): Uint8Array {
  const begin = `-----BEGIN ${label}-----`
  const from = pem.indexOf(begin)
  const to = from < 0 ? -1 : pem.indexOf(`-----END ${label}-----`, from)
  if (to < 0) throw new PkiFailure('malformed', `no ${label} in PEM text`)
  const body = pem.slice(from + begin.length, to).replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw new PkiFailure('malformed', `${label} is not base64`)
  return Buffer.from(body, 'base64')
}
