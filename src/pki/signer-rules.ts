import type { KeyObject } from 'node:crypto'
import type { CertificateRequestContent } from './certificate-request.ts'
import type { RequestedNames } from './requested-extensions.ts'

/** The built-in signers; their names also depend on the API domain of the cluster. */
export type SignerKind = 'apiserverClient' | 'apiserverClientNodeAgent' | 'nodeAgentServing' | 'legacyUnknown'

/** The content of a request that the rules of signers check. */
export type SignerRequest = Pick<
  CertificateRequestContent,
  'subject' | 'commonNames' | 'names' | 'isAuthority' | 'publicKey'
> & { readonly usages: readonly string[] }

/**
 * Returns the rule of a signer that a request breaks.
 *
 * @returns null: the signer may issue the certificate
 * @source spec 2.11; upstream `pkg/apis/certificates/helpers.go`, `pkg/controller/certificates`
 */
export function brokenSignerRule(signer: SignerKind, request: SignerRequest): string | null {
  return brokenCommonRule(request) ?? brokenRuleOf[signer](request)
}

const brokenRuleOf: { readonly [signer in SignerKind]: (request: SignerRequest) => string | null } = {
  apiserverClient: ({ usages }) => brokenClientUsage(usages),
  apiserverClientNodeAgent: (request) =>
    brokenNodeSubject(request) ?? presentName(request.names) ?? brokenUsages(request, 'client auth'),
  nodeAgentServing: (request) =>
    brokenNodeSubject(request) ?? brokenServingName(request.names) ?? brokenUsages(request, 'server auth'),
  legacyUnknown: () => null,
}

/** The group of nodes, and the first part of their names. */
const nodeGroup = 'system:nodes'
const nodePrefix = 'system:node:'

function brokenCommonRule(request: SignerRequest): string | null {
  if (request.isAuthority) return 'CA certificates are not issued: request one without the CA bit'
  if (request.commonNames.length > 1)
    return 'subject has several common names: programs disagree which counts'
  if (request.names.hasOthers) {
    return 'subjectAltNames of other types than DNS, IP, email and URI are not allowed'
  }
  return brokenKey(request.publicKey)
}

function brokenNodeSubject({ subject }: SignerRequest): string | null {
  const { commonName, organizations } = subject
  if (organizations.length !== 1 || organizations[0] !== nodeGroup) {
    return `subject organization is not ${nodeGroup}`
  }
  return commonName.startsWith(nodePrefix) ? null : `subject common name does not begin with ${nodePrefix}`
}

function presentName({ dns, emails, ips, uris }: RequestedNames): string | null {
  const kinds = { DNS: dns, email: emails, IP: ips, URI: uris }
  const present = Object.entries(kinds).find(([, names]) => names.length > 0)
  return present === undefined ? null : `${present[0]} subjectAltNames are not allowed`
}

function brokenServingName({ dns, emails, ips, uris }: RequestedNames): string | null {
  if (dns.length + ips.length === 0) return 'DNS or IP subjectAltName is required'
  return presentName({ dns: [], ips: [], emails, uris, hasOthers: false })
}

function brokenClientUsage(usages: readonly string[]): string | null {
  const allowed = ['digital signature', 'key encipherment', 'client auth']
  const foreign = usages.find((usage) => !allowed.includes(usage))
  if (foreign !== undefined) return `invalid usage for client certificate: ${foreign}`
  return usages.includes('client auth') ? null : 'missing required usage for client certificate: client auth'
}

/** Only RSA keys encipher, so newer nodes leave that usage out for keys of other types. */
function brokenUsages({ usages, publicKey }: SignerRequest, purpose: string): string | null {
  const required = ['key encipherment', 'digital signature', purpose]
  const optional = publicKey.asymmetricKeyType === 'rsa' ? [] : ['key encipherment']
  const isMet =
    usages.every((usage) => required.includes(usage)) &&
    required.every((usage) => usages.includes(usage) || optional.includes(usage))
  return isMet ? null : `usages did not match [${required.join(' ')}]`
}

const rsaBitsMin = 2048
const rsaBitsMax = 8192
const curves = ['prime256v1', 'secp384r1', 'secp521r1']

/** Rejects keys that are weak, or that clients cannot use in TLS. */
function brokenKey(key: KeyObject): string | null {
  const { modulusLength = 0, publicExponent = 0n, namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < rsaBitsMin || modulusLength > rsaBitsMax)
        return `RSA keys must have ${rsaBitsMin} to ${rsaBitsMax} bits, not ${modulusLength}`
      // With the exponent 1 a signature is its text, so the key proves nothing.
      return publicExponent >= 3n && publicExponent % 2n === 1n
        ? null
        : `RSA keys must have an odd public exponent of at least 3, not ${publicExponent}`
    case 'ec':
      return curves.includes(namedCurve)
        ? null
        : `EC keys must be of P-256, P-384 or P-521, not ${namedCurve}`
    case 'ed25519':
      return null
    default:
      return `keys must be RSA, EC or Ed25519, not ${key.asymmetricKeyType ?? 'of an unknown type'}`
  }
}
