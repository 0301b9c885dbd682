import type { Names } from '../../api/metadata/names.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'

/**
 * Returns the check for requests that no webhook ever gets, whatever its rules are. So a webhook
 * that does not respond can be repaired with the API alone. These requests are:
 *
 * - what the server writes itself: its bootstrap and its controllers
 * - webhook configurations
 * - reviews of access and of tokens, by which the caller is authorized to repair anything
 * - Members, and leases in the namespaces of the system and of nodes
 *
 * @source apiserver `pkg/admission/plugin/webhook/rules`, IsExemptAdmissionConfigurationResource
 */
export function exemptRequests(
  names: Names,
): (request: Pick<AdmissionRequest, 'context' | 'definition' | 'target'>) => boolean {
  const registration = names.group('admissionregistration')
  const cluster = names.group('cluster')
  const coordination = names.group('coordination')
  const leaseNamespaces: ReadonlySet<string | null> = new Set([
    names.systemNamespace,
    names.nodeLeaseNamespace,
  ])
  return ({ context, definition: { group, plural, review }, target }) => {
    if (context.request.isInternal === true || review !== undefined) return true
    if (group === registration || group === cluster) return true
    return group === coordination && plural === 'leases' && leaseNamespaces.has(target.namespace)
  }
}
