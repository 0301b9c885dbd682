import { readExtensionList } from './certificate.ts'
import { childrenOf, contentOf, decodeDer, identifierOf, isContext } from './der.ts'
import type { DerNode } from './der.ts'
import { PkiError } from './errors.ts'
import { decodeIp } from './names.ts'
import type { AlternativeNames } from './names.ts'

/** The names that a certificate request asks for in addition to its subject. */
export type RequestedNames = AlternativeNames & {
  readonly emails: readonly string[]
  /** Whether there are names of other types, such as directory names. */
  readonly hasOthers: boolean
}

/** The extensions of a certificate request that signers check. */
export type RequestedExtensions = {
  readonly names: RequestedNames
  /** Whether the certificate would be an authority. */
  readonly isAuthority: boolean
}

const extensionRequest = '1.2.840.113549.1.9.14'
const alternativeNames = '2.5.29.17'
const basicConstraints = '2.5.29.19'

/**
 * Reads the attributes of a PKCS #10 request. Extensions that no signer checks are ignored.
 *
 * @throws PkiError `malformed`
 * @source RFC 2985 section 5.4.2, RFC 5280 section 4.2.1.6
 */
export function readRequestedExtensions(attributes: DerNode | undefined): RequestedExtensions {
  const lists = attributes === undefined ? [] : childrenOf(attributes).flatMap(extensionLists)
  if (lists.length > 1) throw new PkiError('malformed', 'the request has two lists of extensions')
  const [list] = lists
  const extensions = list === undefined ? null : readExtensionList(list)
  return {
    names: readNames(extensions?.get(alternativeNames)?.content),
    isAuthority: readAuthority(extensions?.get(basicConstraints)?.content),
  }
}

function extensionLists(attribute: DerNode): readonly DerNode[] {
  const [type, values] = childrenOf(attribute)
  return identifierOf(type) === extensionRequest ? childrenOf(values) : []
}

/** BasicConstraints: an optional boolean, false unless present, and an optional length. */
function readAuthority(extension: Uint8Array | undefined): boolean {
  if (extension === undefined) return false
  const flag = childrenOf(decodeDer(extension)).find((node) => Number(node.type) === booleanType)
  return flag !== undefined && contentOf(flag)[0] !== 0
}

const booleanType = 1

function readNames(extension: Uint8Array | undefined): RequestedNames {
  const names = { dns: [] as string[], ips: [] as string[], uris: [] as string[], emails: [] as string[] }
  let hasOthers = false
  for (const name of extension === undefined ? [] : childrenOf(decodeDer(extension))) {
    if (isContext(name, 1)) names.emails.push(textIn(name))
    else if (isContext(name, 2)) names.dns.push(textIn(name))
    else if (isContext(name, 6)) names.uris.push(textIn(name))
    else if (isContext(name, 7)) names.ips.push(ipIn(name))
    else hasOthers = true
  }
  return { ...names, hasOthers }
}

/** Returns a name in printable ASCII: other characters could make it look like another name. */
function textIn(name: DerNode): string {
  const text = Buffer.from(contentOf(name)).toString('latin1')
  if (/^[\x21-\x7e]{1,1024}$/.test(text)) return text
  throw new PkiError('malformed', 'a subjectAltName is not 1 to 1024 characters of printable ASCII')
}

function ipIn(name: DerNode): string {
  const ip = decodeIp(contentOf(name))
  if (ip === null) throw new PkiError('malformed', 'an IP subjectAltName does not have 4 or 16 bytes')
  return ip
}
