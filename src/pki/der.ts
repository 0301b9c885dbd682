import asn1 from 'node-forge/lib/asn1.js'
import type { asn1 as forge } from 'node-forge'
import { PkiError } from './errors.ts'

/**
 * Reads and writes DER as trees. node-forge is used only for ASN.1: its certificates support RSA
 * only, and the runtime creates all keys and signatures.
 *
 * @source ITU-T X.690
 */
export type DerNode = forge.Asn1

const universal = asn1.Class.UNIVERSAL
const context = asn1.Class.CONTEXT_SPECIFIC

/** Universal tags as in X.680 section 8.4; node-forge lacks some of them. */
export const derType = Object.freeze({
  integer: 2,
  utf8String: 12,
  printableString: 19,
  ia5String: 22,
  bmpString: 30,
})

export function sequence(...children: readonly DerNode[]): DerNode {
  return asn1.create(universal, asn1.Type.SEQUENCE, true, [...children])
}

export function set(...children: readonly DerNode[]): DerNode {
  return asn1.create(universal, asn1.Type.SET, true, [...children])
}

/** @param dotted such as `2.5.4.3` */
export function objectIdentifier(dotted: string): DerNode {
  return asn1.create(universal, asn1.Type.OID, false, asn1.oidToDer(dotted).getBytes())
}

/** @param bytes big endian, not negative; leading zeros are normalized */
export function integer(bytes: Uint8Array): DerNode {
  let from = 0
  while (from < bytes.length - 1 && bytes[from] === 0) from++
  const value = binary(bytes.subarray(from))
  const signed = (bytes[from] ?? 0) >= 0x80 ? '\0' + value : value
  return asn1.create(universal, asn1.Type.INTEGER, false, signed === '' ? '\0' : signed)
}

export function boolean(value: boolean): DerNode {
  return asn1.create(universal, asn1.Type.BOOLEAN, false, value ? '\xff' : '\0')
}

export function derNull(): DerNode {
  return asn1.create(universal, asn1.Type.NULL, false, '')
}

/** @param unusedBits of the last byte, 0 to 7 */
export function bitString(bytes: Uint8Array, unusedBits = 0): DerNode {
  return asn1.create(universal, asn1.Type.BITSTRING, false, String.fromCharCode(unusedBits) + binary(bytes))
}

export function octetString(bytes: Uint8Array): DerNode {
  return asn1.create(universal, asn1.Type.OCTETSTRING, false, binary(bytes))
}

export function utf8String(text: string): DerNode {
  return asn1.create(universal, derType.utf8String, false, binary(Buffer.from(text, 'utf8')))
}

/** `[tag]` around bytes, as in GeneralName and key identifiers. */
export function tagged(tag: number, bytes: Uint8Array): DerNode {
  return asn1.create(context, tag, false, binary(bytes))
}

/** `[tag]` around nodes. */
export function taggedNodes(tag: number, ...children: readonly DerNode[]): DerNode {
  return asn1.create(context, tag, true, [...children])
}

/** UTCTime up to 2049, GeneralizedTime from 2050, as in RFC 5280 section 4.1.2.5. Whole seconds. */
export function time(wallMs: number): DerNode {
  const date = new Date(wallMs)
  return date.getUTCFullYear() < 2050
    ? asn1.create(universal, asn1.Type.UTCTIME, false, asn1.dateToUtcTime(date))
    : asn1.create(universal, asn1.Type.GENERALIZEDTIME, false, asn1.dateToGeneralizedTime(date))
}

export function encodeDer(node: DerNode): Uint8Array {
  return bytesOf(asn1.toDer(node).getBytes())
}

/** @throws PkiError `malformed`: not exactly one DER value */
export function decodeDer(bytes: Uint8Array): DerNode {
  try {
    // Strict, without trailing bytes. Bit strings that look like DER are parsed and written
    // unchanged.
    return asn1.fromDer(binary(bytes), true)
  } catch (cause) {
    throw new PkiError('malformed', 'not DER', { cause })
  }
}

/** Returns the children of a constructed node. @throws PkiError `malformed` */
export function childrenOf(node: DerNode | undefined): readonly DerNode[] {
  if (node === undefined || !Array.isArray(node.value)) throw new PkiError('malformed', 'DER lacks a list')
  return node.value
}

/** Returns the bytes of a primitive node. @throws PkiError `malformed` */
export function contentOf(node: DerNode | undefined): Uint8Array {
  if (node === undefined || typeof node.value !== 'string') {
    throw new PkiError('malformed', 'DER lacks a value')
  }
  // The library keeps a BMPString as characters, and other types as bytes.
  if (Number(node.type) === derType.bmpString) return Buffer.from(node.value, 'utf16le').swap16()
  return bytesOf(node.value)
}

/** @throws PkiError `malformed` */
export function identifierOf(node: DerNode | undefined): string {
  const isIdentifier = node?.tagClass === universal && node.type === asn1.Type.OID
  if (!isIdentifier || typeof node.value !== 'string') {
    throw new PkiError('malformed', 'DER lacks an object identifier')
  }
  return asn1.derToOid(node.value)
}

export function isSequence(node: DerNode): boolean {
  return node.tagClass === universal && node.type === asn1.Type.SEQUENCE && node.constructed
}

export function isContext(node: DerNode | undefined, tag: number): node is DerNode {
  return node !== undefined && node.tagClass === context && Number(node.type) === tag
}

function binary(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1')
}
