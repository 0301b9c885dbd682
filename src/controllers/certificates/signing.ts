import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { numberMember, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { Authority } from '../../pki/authority.ts'
import { readCertificateRequest } from '../../pki/certificate-request.ts'
import type { CertificateRequestContent } from '../../pki/certificate-request.ts'
import { PkiError } from '../../pki/errors.ts'
import { brokenSignerRule } from '../../pki/signer-rules.ts'
import type { SignerKind } from '../../pki/signer-rules.ts'
import { signRequest } from '../../pki/sign-request.ts'
import type { Informer } from '../../registry/informer.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { Key } from '../../store/key.ts'
import { Controller, defaultControllerLimits } from '../controller.ts'
import type { Reconciled } from '../controller.ts'
import { summaryOf } from './request-summary.ts'
import type { RequestSummary } from './request-summary.ts'
import { readRequest, withCondition, writeRequest } from './write-request.ts'
import type { RequestAccess } from './write-request.ts'

/** The authorities of the signers, as this member has them. */
export interface SigningAuthorities {
  /**
   * `disabled`: the server does not sign for it. `not-yet`: the members are about to create the
   * shared authority.
   */
  of(signer: SignerKind): Authority | 'disabled' | 'not-yet'
}

export type CertificateSigningDependencies = RequestAccess & {
  readonly clock: Clock
  /** Draws serial numbers. */
  readonly random: Random
  readonly authorities: SigningAuthorities
  /** The longest lifetime of a certificate. */
  readonly durationMs: number
  readonly requests: Informer<RequestSummary>
  readonly onError: (key: string, cause: unknown) => void
}

/**
 * Issues the certificates of approved requests. A request that breaks a rule of its signer gets the
 * condition `Failed` with the rule.
 *
 * @source spec 2.11, 3.2; upstream `pkg/controller/certificates/signer/signer.go`
 */
export function certificateSigner(dependencies: CertificateSigningDependencies): Controller {
  const { clock, requests, onError } = dependencies
  const isCandidate = ({ signer, isApproved }: RequestSummary): boolean => signer !== null && isApproved
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: (key) => reconcile(dependencies, key as Key),
    *keys() {
      for (const [key, summary] of requests.entries()) if (isCandidate(summary)) yield key
    },
    limits: { ...defaultControllerLimits, concurrency: 4 },
  })
  requests.subscribe((change) => {
    if (change.kind === 'set' && isCandidate(change.value)) controller.enqueue(change.key)
  })
  return controller
}

async function reconcile(dependencies: CertificateSigningDependencies, key: Key): Promise<Reconciled> {
  const object = await readRequest(dependencies, key)
  if (object === null) return { kind: 'done' }
  const { signer, isApproved } = summaryOf(dependencies.names, object)
  if (signer === null || !isApproved) return { kind: 'done' }
  const authority = dependencies.authorities.of(signer)
  if (authority === 'disabled') return { kind: 'done' }
  const wanted = wantedBy(object, signer)
  if ('broken' in wanted) {
    const condition = { type: 'Failed', reason: 'SignerValidationFailure', message: wanted.broken } as const
    const event = { type: 'Warning', reason: 'CertificateFailed', message: wanted.broken } as const
    return writeRequest(dependencies, withCondition(object, condition), { subresource: 'status', event })
  }
  if (authority === 'not-yet') return { kind: 'again' }
  const { clock, random, durationMs: maxMs } = dependencies
  const lifetime = { nowMs: clock.wallMs(), maxMs, requestedMs: wanted.requestedMs }
  const pem = signRequest(authority, wanted.request, { lifetime, random })
  const certificate = Buffer.from(pem, 'latin1').toString('base64')
  const signed = { ...object, status: { ...objectMember(object, 'status'), certificate } }
  const message = `Issued by the signer ${textMember(objectMember(object, 'spec'), 'signerName')}`
  const event = { type: 'Normal', reason: 'CertificateIssued', message } as const
  return writeRequest(dependencies, signed, { subresource: 'status', event })
}

type Wanted =
  | {
      readonly request: CertificateRequestContent & { readonly usages: readonly string[] }
      readonly requestedMs: number | null
    }
  | { readonly broken: string }

function wantedBy(object: AnyObject, signer: SignerKind): Wanted {
  const spec = objectMember(object, 'spec')
  const usages = textsMember(spec, 'usages')
  const seconds = numberMember(spec, 'expirationSeconds')
  try {
    const content = readCertificateRequest(
      Buffer.from(textMember(spec, 'request'), 'base64').toString('latin1'),
    )
    const request = { ...content, usages }
    const broken = brokenSignerRule(signer, request)
    return broken === null ? { request, requestedMs: seconds === null ? null : seconds * 1000 } : { broken }
  } catch (cause) {
    // An older version of the server may have stored what this one rejects.
    if (cause instanceof PkiError) return { broken: cause.message }
    throw cause
  }
}
