import { forbidden } from '../api/errors/standard-errors.ts'
import { equalJson, objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { AccessReviewer } from '../registry/kinds/access-reviewer.ts'
import type { AdmissionPlugin } from './chain.ts'

export type CertificatePermissionsDependencies = {
  readonly names: Names
  readonly reviewers: AccessReviewer
}

/**
 * To approve or deny a certificate, a user needs a permission for its signer in addition to the one
 * for the path: verb `approve` on `signers` of the name, or of `<its domain>/*`.
 *
 * @source spec 3.2, 5.7; upstream `plugin/pkg/admission/certificates/approval`
 */
export function certificateApproval(dependencies: CertificatePermissionsDependencies): AdmissionPlugin {
  return permissionPlugin('CertificateApproval', 'approve', dependencies)
}

/**
 * To change the status of a request, as by issuing its certificate, a user needs verb `sign` on the
 * signer in the same way.
 *
 * @source spec 3.2, 5.7; upstream `plugin/pkg/admission/certificates/signing`
 */
export function certificateSigning(dependencies: CertificatePermissionsDependencies): AdmissionPlugin {
  return permissionPlugin('CertificateSigning', 'sign', dependencies)
}

type SignerVerb = 'approve' | 'sign'

function permissionPlugin(
  name: string,
  verb: SignerVerb,
  { names, reviewers }: CertificatePermissionsDependencies,
): AdmissionPlugin {
  const group = names.group('certificates')
  return {
    name,
    // An authorizer may be a webhook.
    callsOut: true,
    concerns: (request) =>
      request.definition.group === group &&
      request.definition.plural === 'certificatesigningrequests' &&
      verbOf(request) === verb,
    validate: async (request) => {
      const { definition, oldObject } = request
      if (oldObject === null) return
      const signer = textMember(objectMember(oldObject, 'spec'), 'signerName')
      if (await mayUse(reviewers, request, { verb, group, signer })) return
      const why = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`
      throw forbidden(resourceOf(definition), request.target.name ?? '', why)
    },
  }
}

/** Returns the verb that the request needs permission for; null: none. */
function verbOf({ operation, target, object, oldObject }: AdmissionRequest): SignerVerb | null {
  if (operation !== 'UPDATE' || object === null || oldObject === null) return null
  if (target.subresource === 'approval') return 'approve'
  return target.subresource === 'status' && !equalJson(statusOf(object), statusOf(oldObject)) ? 'sign' : null
}

function statusOf(object: AnyObject): ReturnType<typeof objectMember> {
  return objectMember(object, 'status')
}

async function mayUse(
  reviewers: AccessReviewer,
  { context }: AdmissionRequest,
  { verb, group, signer }: { readonly verb: string; readonly group: string; readonly signer: string },
): Promise<boolean> {
  const [domain = ''] = signer.split('/')
  const action = { kind: 'resource', verb, group, version: '*', resource: 'signers' } as const
  for (const name of [signer, `${domain}/*`]) {
    const verdict = await reviewers.authorize(context.request.user, {
      ...action,
      subresource: '',
      namespace: '',
      name,
    })
    if (verdict.allowed) return true
  }
  return false
}
