import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, invalid } from '../api/errors/field-error.ts'
import { memberOf, objectMember, textMember, textsMember } from '../api/json.ts'
import { checkDns1035Label } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { statusApart } from './common/status-apart.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { loadBalancerText } from './services/load-balancer-rules.ts'
import { healthCheckPort, needsHealthCheck } from './services/assign-node-ports.ts'
import { checkAddressChange } from './services/service-addresses.ts'
import { serviceClaims } from './services/service-claims.ts'
import { carriedOver, fillService, withAddressList } from './services/service-defaults.ts'
import { servicePortsText } from './services/service-ports.ts'
import type { ServiceRanges } from './services/service-ranges.ts'
import { checkService } from './services/service-rules.ts'
import { serviceSchema } from './services/service-schema.ts'
import { labelsOf, selectorColumn } from './workloads/pod-owner.ts'
import { proxyOf } from './pods/connect-options.ts'

/** A name and addresses for a set of Pods. */
export function serviceDefinition(names: Names, ranges: ServiceRanges): ResourceDefinition {
  const { prepareForCreate, prepareForUpdate } = statusApart(serviceSchema)
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Service',
    plural: 'services',
    singular: 'service',
    shortNames: ['svc'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: serviceSchema,
    validateName: checkDns1035Label,
    deleteReturnsObject: true,
    putCreates: true,
    columns,
    hooks: {
      fillDefaults: fillService,
      prepareForCreate: (object, writing) => withAddressList(prepareForCreate(object, writing)),
      prepareForUpdate: (object, current, writing) =>
        carriedOver(prepareForUpdate(object, current, writing), current),
      validate: (object, found) => {
        checkService(object, names, found)
      },
      validateUpdate: checkUpdate,
      claims: serviceClaims(ranges),
      // A later Service of the same name must not get these endpoints if their controller is slow.
      removedToo: { group: '', plural: 'endpoints' },
    },
    subresources: [proxyOf('Service'), statusSubresource()],
  } satisfies ResourceDefinition)
}

const columns: readonly Column[] = [
  nameColumn,
  textColumn('Type', 'How the Service is published.', (object) =>
    textMember(objectMember(object, 'spec'), 'type'),
  ),
  textColumn(
    'Cluster-IP',
    'The first of its cluster addresses.',
    (object) => textsMember(objectMember(object, 'spec'), 'clusterIPs')[0] ?? '<none>',
  ),
  textColumn('External-IP', 'Addresses at which it is reached from outside.', externalText),
  textColumn('Port(s)', 'Ports of the Service, with node ports.', (object) =>
    servicePortsText(objectMember(object, 'spec')),
  ),
  ageColumn,
  selectorColumn(labelsOf),
]

function externalText(object: AnyObject): string {
  const spec = objectMember(object, 'spec')
  const external = textsMember(spec, 'externalIPs')
  switch (textMember(spec, 'type')) {
    case 'ExternalName':
      return textMember(spec, 'externalName')
    case 'LoadBalancer': {
      const balanced = loadBalancerText(objectMember(objectMember(object, 'status'), 'loadBalancer'))
      const all = balanced === '' ? external : [balanced, ...external]
      return all.length === 0 ? '<pending>' : all.join(',')
    }
    default:
      return external.length === 0 ? '<none>' : external.join(',')
  }
}

/** @source upstream `pkg/apis/core/validation`, ValidateServiceUpdate */
function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const [spec, before] = [objectMember(object, 'spec'), objectMember(current, 'spec')]
  checkAddressChange(spec, before, found)
  // A Service that an older version of this server stored may lack the port.
  const isChecked = [spec, before].every(needsHealthCheck) && healthCheckPort(before) !== 0
  if (isChecked && healthCheckPort(spec) !== healthCheckPort(before))
    found.add(fieldForbidden('spec.healthCheckNodePort', 'field is immutable'))
  const isBalanced = [spec, before].every((of) => textMember(of, 'type') === 'LoadBalancer')
  const [now, old] = [memberOf(spec, 'loadBalancerClass'), memberOf(before, 'loadBalancerClass')]
  if (isBalanced && now !== old) found.add(invalid('spec.loadBalancerClass', now, 'may not change once set'))
}
