import { memberOf, objectMember, objectsMember, textsMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { selectorText } from './common/selector.ts'
import { statusApart } from './common/status-apart.ts'
import { keeping, statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { networkPolicySchema } from './networking/network-policy-schema.ts'

/** Which traffic of Pods is allowed; the network of the cluster enforces it. */
export function networkPolicyDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('networking'),
    version: 'v1',
    kind: 'NetworkPolicy',
    plural: 'networkpolicies',
    singular: 'networkpolicy',
    shortNames: ['netpol'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: networkPolicySchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns: [
      nameColumn,
      textColumn(
        'Pod-Selector',
        'Selector of the Pods.',
        (object) => selectorText(memberOf(objectMember(object, 'spec'), 'podSelector')) || '<none>',
      ),
      ageColumn,
    ],
    hooks: { ...statusApart(networkPolicySchema), fillDefaults },
    subresources: [{ ...statusSubresource(), prepareForUpdate: withoutNewStatus }],
  } satisfies ResourceDefinition)
}

/**
 * Keeps the status: its feature is off. A stored status can only be cleared.
 *
 * @source upstream `pkg/registry/networking/networkpolicy`, networkPolicyStatusStrategy
 */
function withoutNewStatus(object: AnyObject, current: AnyObject): AnyObject {
  const isCleared = objectsMember(objectMember(object, 'status'), 'conditions').length === 0
  return isCleared
    ? { ...keeping(object, current, 'spec'), status: {} }
    : keeping(object, current, 'spec', 'status')
}

/** @source upstream `pkg/apis/networking/v1`, SetDefaults_NetworkPolicy */
function fillDefaults(object: AnyObject): AnyObject {
  const spec = objectMember(object, 'spec')
  if (textsMember(spec, 'policyTypes').length > 0) return object
  const isForEgress = objectsMember(spec, 'egress').length > 0
  return { ...object, spec: { ...spec, policyTypes: isForEgress ? ['Ingress', 'Egress'] : ['Ingress'] } }
}
