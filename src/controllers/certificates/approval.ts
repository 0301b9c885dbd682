import type { Clock } from '../../../base/clock.ts'
import { objectMember, textMember, textsMember } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { readCertificateRequest } from '../../pki/certificate-request.ts'
import type { CertificateRequestContent } from '../../pki/certificate-request.ts'
import { PkiError } from '../../pki/errors.ts'
import { brokenSignerRule } from '../../pki/signer-rules.ts'
import type { AccessReviewer } from '../../registry/kinds/access-reviewer.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { Informer } from '../../registry/informer.ts'
import type { Key } from '../../store/key.ts'
import { Controller } from '../controller.ts'
import type { Reconciled } from '../controller.ts'
import { summaryOf } from './request-summary.ts'
import type { RequestSummary } from './request-summary.ts'
import { readRequest, recordEvent, withCondition, writeRequest } from './write-request.ts'
import type { RequestAccess } from './write-request.ts'

export type CertificateApprovalDependencies = RequestAccess & {
  readonly clock: Clock
  readonly reviewers: Pick<AccessReviewer, 'authorize'>
  readonly requests: Informer<RequestSummary>
  readonly onError: (key: string, cause: unknown) => void
}

/** A permission that lets a requester have its certificate without an approver. */
type Permission = 'selfnodeclient' | 'nodeclient'

const messages: { readonly [permission in Permission]: string } = {
  selfnodeclient: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
  nodeclient: 'Auto approving kubelet client certificate after SubjectAccessReview.',
}

/**
 * Approves the client certificates of nodes, and their renewals, where the requester has the
 * permission for it. Requests without the permission stay pending, for an approver, and are looked
 * at again: the permission may be granted later.
 *
 * @source spec 2.11, 3.2; upstream `pkg/controller/certificates/approver/sarapprove.go`
 */
export function certificateApprover(dependencies: CertificateApprovalDependencies): Controller {
  const { clock, requests, onError } = dependencies
  const isCandidate = ({ signer, isPending }: RequestSummary): boolean =>
    signer === 'apiserverClientNodeAgent' && isPending
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: (key) => reconcile(dependencies, key as Key),
    *keys() {
      for (const [key, summary] of requests.entries()) if (isCandidate(summary)) yield key
    },
    // Upstream's delays.
    limits: { keysMax: 100_000, backoffMsMin: 200, backoffMsMax: 1_000_000 },
  })
  requests.subscribe((change) => {
    if (change.kind === 'set' && isCandidate(change.value)) controller.enqueue(change.key)
  })
  return controller
}

async function reconcile(dependencies: CertificateApprovalDependencies, key: Key): Promise<Reconciled> {
  const object = await readRequest(dependencies, key)
  if (object === null) return { kind: 'done' }
  const { signer, isPending } = summaryOf(dependencies.names, object)
  if (signer !== 'apiserverClientNodeAgent' || !isPending) return { kind: 'done' }
  const refuse = (message: string): void =>
    recordEvent(dependencies, object, { type: 'Warning', reason: 'CertificateNotApproved', message })
  const broken = brokenRule(object)
  if (broken !== null) {
    refuse(`Not approved automatically: ${broken}`)
    // The content of a request never changes, so a retry would not help.
    return { kind: 'done' }
  }
  const permissions = permissionsFor(object)
  for (const permission of permissions) {
    if (!(await isGranted(dependencies, object, permission))) continue
    const condition = { type: 'Approved', reason: 'AutoApproved', message: messages[permission] } as const
    const event = { type: 'Normal', reason: 'CertificateApproved', message: messages[permission] } as const
    return writeRequest(dependencies, withCondition(object, condition), { subresource: 'approval', event })
  }
  const missing = permissions.map((permission) => `certificatesigningrequests/${permission}`)
  refuse(`Not approved automatically: the requester may not create ${missing.join(' or ')}`)
  return { kind: 'again' }
}

/** Returns why the request is not one for the client certificate of a node, or null. */
function brokenRule(object: AnyObject): string | null {
  const spec = objectMember(object, 'spec')
  const request = contentOf(textMember(spec, 'request'))
  if (request === null) return 'spec.request cannot be read'
  return brokenSignerRule('apiserverClientNodeAgent', { ...request, usages: textsMember(spec, 'usages') })
}

/** Returns the permissions of which one is enough, in order of their check. */
function permissionsFor(object: AnyObject): readonly Permission[] {
  const spec = objectMember(object, 'spec')
  const request = contentOf(textMember(spec, 'request'))
  const isOwn = textMember(spec, 'username') === request?.subject.commonName
  return isOwn ? ['selfnodeclient', 'nodeclient'] : ['nodeclient']
}

function contentOf(request: string): CertificateRequestContent | null {
  try {
    return readCertificateRequest(Buffer.from(request, 'base64').toString('latin1'))
  } catch (cause) {
    if (cause instanceof PkiError) return null
    throw cause
  }
}

async function isGranted(
  { names, reviewers }: CertificateApprovalDependencies,
  object: AnyObject,
  subresource: Permission,
): Promise<boolean> {
  const { allowed } = await reviewers.authorize(requesterOf(object), {
    ...{ kind: 'resource', verb: 'create', group: names.group('certificates'), version: '*' },
    ...{ resource: 'certificatesigningrequests', subresource, namespace: '', name: '' },
  })
  return allowed
}

/** The user that the server recorded when the request was created. */
function requesterOf(object: AnyObject): UserInfo {
  const spec = objectMember(object, 'spec')
  const extra = objectMember(spec, 'extra')
  return {
    name: textMember(spec, 'username'),
    uid: textMember(spec, 'uid'),
    groups: textsMember(spec, 'groups'),
    extra: Object.fromEntries(Object.keys(extra).map((name) => [name, textsMember(extra, name)])),
  }
}
