import { createPublicKey, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readCommonNames, readSubject } from './certificate.ts'
import { childrenOf, decodeDer, encodeDer, identifierOf, isContext, isSequence } from './der.ts'
import type { DerNode } from './der.ts'
import { PkiError } from './errors.ts'
import type { Subject } from './names.ts'
import { pemBlocks } from './pem.ts'
import { readRequestedExtensions } from './requested-extensions.ts'
import type { RequestedExtensions } from './requested-extensions.ts'

/** Content of a certificate request. */
export type CertificateRequestContent = RequestedExtensions & {
  readonly subject: Subject
  /** All common names; `subject` has the last one. */
  readonly commonNames: readonly string[]
  /** The encoded subject, to be copied into the certificate. */
  readonly subjectNode: DerNode
  readonly publicKey: KeyObject
}

/** Maximum size, so that parsing takes a bounded time. */
const requestBytesMax = 64 * 1024
/** Base64 adds a third; line breaks and text around the block add some more. */
const textLengthMax = 2 * requestBytesMax

/**
 * Reads a PKCS #10 request in PEM and verifies its signature: the sender has the private key.
 *
 * @param pem exactly one block: of several, it would not be clear which one was approved
 * @throws PkiError `malformed`: not one request, or a wrong signature
 * @source RFC 2986
 */
export function readCertificateRequest(pem: string): CertificateRequestContent {
  const [block, ...more] = pem.length > textLengthMax ? tooLarge() : pemBlocks(pem)
  if (block?.label !== 'CERTIFICATE REQUEST') {
    throw new PkiError('malformed', 'PEM block type must be CERTIFICATE REQUEST')
  }
  if (more.length > 0) {
    throw new PkiError('malformed', 'must have one PEM block: create one object per certificate request')
  }
  if (block.der.byteLength > requestBytesMax) tooLarge()
  try {
    return readFields(block.der)
  } catch (cause) {
    // The runtime and the DER library throw different errors for the same cause.
    if (cause instanceof PkiError) throw cause
    throw new PkiError('malformed', 'not a PKCS #10 request', { cause })
  }
}

function tooLarge(): never {
  throw new PkiError('malformed', `the request is too large: at most ${requestBytesMax} bytes of DER`)
}

function readFields(der: Uint8Array): CertificateRequestContent {
  const [info, algorithm, signature] = partsOf(decodeDer(der))
  // CertificationRequestInfo: version, subject, key, [0] attributes.
  const [, subject, key, ...attributes] = partsOf(info)
  if (subject === undefined || key === undefined)
    throw new PkiError('malformed', 'the request lacks its subject or its key')
  const publicKey = createPublicKey({ key: Buffer.from(encodeDer(key)), format: 'der', type: 'spki' })
  const digest = digestOf(identifierOf(partsOf(algorithm)[0]))
  const bits = signatureBits(signature === undefined ? new Uint8Array() : encodeDer(signature))
  if (!verify(digest, firstElement(der), publicKey, bits)) {
    throw new PkiError('malformed', 'the request is not signed by its own key')
  }
  return {
    subject: readSubject(subject),
    commonNames: readCommonNames(subject),
    subjectNode: subject,
    publicKey,
    ...readRequestedExtensions(attributes.find((node) => isContext(node, 0))),
  }
}

/** The signature covers only the first part of a request, so the structure around it is checked. */
function partsOf(node: DerNode | undefined): readonly DerNode[] {
  if (node === undefined || !isSequence(node)) throw new PkiError('malformed', 'DER lacks a sequence')
  return childrenOf(node)
}

/** Returns the digest of a signature algorithm; null: determined by the key type. */
function digestOf(oid: string): string | null {
  const digest = digests.get(oid)
  if (digest === undefined) {
    throw new PkiError('malformed', `the request is signed by an algorithm that is not accepted: ${oid}`)
  }
  return digest
}

/** @source RFC 4055 section 5, RFC 5758 section 3.2, RFC 8410 section 3 */
const digests: ReadonlyMap<string, string | null> = new Map([
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.3.101.112', null],
  ['1.3.101.113', null],
])

/** Returns the bytes of the first element of a sequence as received, which were signed. */
function firstElement(der: Uint8Array): Uint8Array {
  const from = contentAt(der, 0).from
  return der.subarray(from, contentAt(der, from).to)
}

/** A bit string begins with the number of unused bits, here 0. */
function signatureBits(bitString: Uint8Array): Uint8Array {
  const { from, to } = contentAt(bitString, 0)
  if (bitString[0] !== bitStringTag || bitString[from] !== 0) {
    throw new PkiError('malformed', 'the signature is not a whole number of bytes')
  }
  return bitString.subarray(from + 1, to)
}

const bitStringTag = 3

/** Returns the content of the element at `at`; the caller has parsed its length before. */
function contentAt(der: Uint8Array, at: number): { readonly from: number; readonly to: number } {
  const first = der[at + 1] ?? 0
  if (first < 0x80) return { from: at + 2, to: at + 2 + first }
  const bytes = first & 0x7f
  let length = 0
  for (let k = 0; k < bytes; k++) length = length * 256 + (der[at + 2 + k] ?? 0)
  return { from: at + 2 + bytes, to: at + 2 + bytes + length }
}
