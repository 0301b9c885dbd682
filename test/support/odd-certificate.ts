import { sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { bitString, boolean, decodeDer, encodeDer, integer, objectIdentifier } from '../../src/pki/der.ts'
import { octetString, sequence, tagged, taggedNodes, time } from '../../src/pki/der.ts'
import type { DerNode } from '../../src/pki/der.ts'
import { generateKeyPair } from '../../src/pki/keys.ts'
import type { KeyPair } from '../../src/pki/keys.ts'
import { encodeSubject } from '../../src/pki/names.ts'
import { toPem } from '../../src/pki/pem.ts'

/** A certificate as nobody of ours would issue it, with its key, so that it can issue others. */
export type Odd = {
  readonly name: string
  readonly pem: string
  readonly keys: KeyPair
}

export type OddOptions = {
  readonly organizations?: readonly string[]
  /** null: it signs itself. */
  readonly issuer: Odd | null
  /** Instead of fresh ones. */
  readonly keys?: KeyPair
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** false: no authority; a number: the path length. Unset: no basic constraints at all. */
  readonly authority?: boolean | number
  /** Of the extended key usages. Unset: none is named. */
  readonly usages?: readonly string[]
  /** Bits of the first byte of the key usage; unset: none is named. */
  readonly keyUsage?: number
  readonly more?: readonly { readonly id: string; readonly isCritical: boolean; readonly value: DerNode }[]
  readonly digest?: 'sha1' | 'sha256'
}

let serial = 1

export function oddCertificate(name: string, options: OddOptions): Odd {
  const { issuer, authority, usages, keyUsage, more = [], digest = 'sha256' } = options
  const keys = options.keys ?? generateKeyPair()
  const extensions = [
    ...(authority === undefined ? [] : [extension('2.5.29.19', true, basicConstraints(authority))]),
    ...(usages === undefined
      ? []
      : [extension('2.5.29.37', false, sequence(...usages.map(objectIdentifier)))]),
    ...(keyUsage === undefined ? [] : [extension('2.5.29.15', true, bitString(Uint8Array.of(keyUsage)))]),
    ...more.map(({ id, isCritical, value }) => extension(id, isCritical, value)),
  ]
  const algorithm = sequence(objectIdentifier(`1.2.840.10045.4.${digest === 'sha1' ? '1' : '3.2'}`))
  const body = sequence(
    taggedNodes(0, integer(Uint8Array.of(2))),
    integer(Uint8Array.of(1, (serial >> 8) & 255, serial++ & 255)),
    algorithm,
    encodeSubject({ commonName: issuer?.name ?? name, organizations: [] }),
    sequence(time(options.notBeforeMs), time(options.notAfterMs)),
    encodeSubject({ commonName: name, organizations: options.organizations ?? [] }),
    decodeDer(keys.publicKey.export({ type: 'spki', format: 'der' })),
    ...(extensions.length === 0 ? [] : [taggedNodes(3, sequence(...extensions))]),
  )
  const signer: KeyObject = (issuer?.keys ?? keys).privateKey
  const signature = sign(digest, encodeDer(body), signer)
  const der = encodeDer(sequence(body, algorithm, bitString(signature)))
  return { name, pem: toPem('CERTIFICATE', der), keys }
}

function basicConstraints(authority: boolean | number): DerNode {
  if (authority === false) return sequence()
  return typeof authority === 'number'
    ? sequence(boolean(true), integer(Uint8Array.of(authority)))
    : sequence(boolean(true))
}

/** Only names below `domain` may be vouched for. */
export function nameConstraints(domain: string): DerNode {
  return sequence(taggedNodes(0, sequence(tagged(2, Buffer.from(domain)))))
}

function extension(id: string, isCritical: boolean, value: DerNode): DerNode {
  const critical = isCritical ? [boolean(true)] : []
  return sequence(objectIdentifier(id), ...critical, octetString(encodeDer(value)))
}
