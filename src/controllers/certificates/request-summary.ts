import { objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { parseTimeMs } from '../../api/metadata/time.ts'
import { readCertificate } from '../../pki/certificate.ts'
import { PkiError } from '../../pki/errors.ts'
import type { SignerKind } from '../../pki/signer-rules.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/** The part of a certificate signing request that the controllers keep in memory. */
export type RequestSummary = {
  /** null: a signer outside of this server. */
  readonly signer: SignerKind | null
  /** Whether it is neither approved, denied nor signed. */
  readonly isPending: boolean
  /** Whether it is approved, and was neither signed nor refused by its signer. */
  readonly isApproved: boolean
  /** Wall-clock time from which on it is removed. */
  readonly removalMs: number
}

export function summaryOf(names: Names, object: AnyObject): RequestSummary {
  const status = objectMember(object, 'status')
  const types = objectsMember(status, 'conditions').map((condition) => textMember(condition, 'type'))
  const isIssued = textMember(status, 'certificate') !== ''
  const isApproved = types.includes('Approved')
  return {
    signer: signerOf(names, textMember(objectMember(object, 'spec'), 'signerName')),
    isPending: !isIssued && !isApproved && !types.includes('Denied'),
    isApproved: isApproved && !isIssued && !types.includes('Failed'),
    removalMs: removalMs(object),
  }
}

function signerOf({ signers }: Names, name: string): SignerKind | null {
  const kinds: readonly SignerKind[] = [
    'apiserverClient',
    'apiserverClientNodeAgent',
    'nodeAgentServing',
    'legacyUnknown',
  ]
  return kinds.find((kind) => signers[kind] === name) ?? null
}

const hourMs = 60 * 60 * 1000
const pendingMs = 24 * hourMs
const decidedMs = hourMs

/**
 * Returns the time after which a request is not needed: a fixed time after its creation or its last
 * decision, or the end of its certificate if that comes first.
 *
 * @source spec 3.2, 8; upstream `pkg/controller/certificates/cleaner/cleaner.go`
 */
function removalMs(object: AnyObject): number {
  const status = objectMember(object, 'status')
  const createdMs = parseTimeMs(object.metadata.creationTimestamp ?? '') ?? 0
  const changes = objectsMember(status, 'conditions')
    .filter((condition) => ['Approved', 'Denied', 'Failed'].includes(textMember(condition, 'type')))
    .map((condition) => parseTimeMs(textMember(condition, 'lastUpdateTime')) ?? createdMs)
  const unusedMs = changes.length === 0 ? createdMs + pendingMs : Math.max(...changes) + decidedMs
  return Math.min(unusedMs, expiryMs(textMember(status, 'certificate')))
}

/** @param certificate PEM in base64; empty: none */
function expiryMs(certificate: string): number {
  if (certificate === '') return Infinity
  try {
    return readCertificate(Buffer.from(certificate, 'base64').toString('latin1')).notAfterMs
  } catch (cause) {
    // A signer outside of this server may issue what this server cannot read.
    if (cause instanceof PkiError) return Infinity
    throw cause
  }
}
