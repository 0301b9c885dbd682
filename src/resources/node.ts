import type { Findings } from '../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid, keyPath } from '../api/errors/field-error.ts'
import { equalJson, memberOf, objectMember, objectsMember } from '../api/json.ts'
import { textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { part, struct } from '../api/schema/build.ts'
import { parseQuantity } from '../api/schema/quantity.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { nodeColumns } from './nodes/node-columns.ts'
import { nodeSpecSchema, withBothRanges } from './nodes/node-spec.ts'
import { nodeStatusSchema } from './nodes/node-status.ts'
import { withoutDisabled } from './common/disabled-members.ts'
import { keeping, statusSubresource } from './common/status-subresource.ts'
import { proxyOf } from './pods/connect-options.ts'

/** A machine that runs pods. The status may be set on create. */
export function nodeDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Node',
    plural: 'nodes',
    singular: 'node',
    shortNames: ['no'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: nodeSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    selectableFields: ['spec.unschedulable'],
    columns: nodeColumns(names),
    hooks: {
      fillDefaults,
      prepareForCreate: (object) => withoutOldSettings(object, null),
      prepareForUpdate: (object, current) => withoutOldSettings(keeping(object, current, 'status'), current),
      validate: checkAmounts,
      warnings,
      validateUpdate: (object, current, found) => {
        checkSpec(object, current, found)
        checkAddresses(object, found)
      },
    },
    subresources: [
      proxyOf('Node'),
      {
        ...statusSubresource((object, found) => {
          checkAmounts(object, found)
          checkAddresses(object, found)
        }),
        prepareForUpdate: (object, current) => withoutOldSettings(keeping(object, current, 'spec'), current),
      },
    ],
  } satisfies ResourceDefinition)
}

const nodeSchema = struct('core.v1.Node', 'A worker machine of the cluster.', {
  spec: part(2, nodeSpecSchema, 'Configuration of the node.'),
  status: part(3, nodeStatusSchema, 'Observed state of the node, reported by its agent.'),
})

function fillDefaults(object: AnyObject): AnyObject {
  const spec = withBothRanges(objectMember(object, 'spec'))
  const status = objectMember(object, 'status')
  const capacity = memberOf(status, 'capacity')
  if (capacity === undefined || Object.hasOwn(status, 'allocatable')) return { ...object, spec }
  return { ...object, spec, status: { ...status, allocatable: capacity } }
}

/**
 * Drops the configuration of the node's agent, which no longer reads it from objects, unless the
 * stored node has it.
 *
 * @param current null: the node is new
 * @source upstream `pkg/registry/core/node`: dropDisabledFields
 */
function withoutOldSettings(object: AnyObject, current: AnyObject | null): AnyObject {
  const enabled = (part: 'spec' | 'status', member: string): JsonObject =>
    withoutDisabled(objectMember(object, part), current === null ? null : objectMember(current, part), member)
  return { ...object, spec: enabled('spec', 'configSource'), status: enabled('status', 'config') }
}

/**
 * @source upstream `pkg/registry/core/node`: fieldIsDeprecatedWarnings, without the warning about
 * `configSource`, which new nodes do not keep
 */
function warnings(object: AnyObject): readonly string[] {
  if (textMember(objectMember(object, 'spec'), 'externalID') === '') return []
  return ['spec.externalID: this field is deprecated, and is unused by Kubernetes']
}

/** @source upstream `pkg/apis/core/validation`: ValidateNodeResources */
function checkAmounts(object: AnyObject, found: Findings): void {
  const status = objectMember(object, 'status')
  for (const member of ['capacity', 'allocatable']) {
    const amounts = objectMember(status, member)
    for (const resource of Object.keys(amounts)) {
      const field = keyPath(`status.${member}`, resource)
      checkAmount(resource, amounts, field, found)
    }
  }
}

function checkAmount(resource: string, amounts: JsonObject, field: string, found: Findings): void {
  const text = textMember(amounts, resource)
  const nanos = parseQuantity(text)?.nanos ?? 0n
  if (nanos < 0n) found.add(invalid(field, text, 'must be greater than or equal to 0'))
  const counted = resource === 'pods' || resource.includes('/')
  if (counted && nanos % 1_000_000_000n !== 0n) found.add(invalid(field, text, 'must be an integer'))
}

/** @source upstream `pkg/apis/core/validation`: ValidateNodeUpdate */
function checkSpec(object: AnyObject, current: AnyObject, found: Findings): void {
  const [spec, old] = [objectMember(object, 'spec'), objectMember(current, 'spec')]
  const ranges = textsMember(old, 'podCIDRs')
  if (ranges.length > 0 && !equalJson(ranges, textsMember(spec, 'podCIDRs'))) {
    const words = 'node updates may not change podCIDR except from "" to valid'
    found.add(fieldForbidden('spec.podCIDRs', words))
  }
  const provider = textMember(old, 'providerID')
  if (provider !== '' && provider !== textMember(spec, 'providerID')) {
    const words = 'node updates may not change providerID except from "" to valid'
    found.add(fieldForbidden('spec.providerID', words))
  }
  if (textMember(spec, 'externalID') !== textMember(old, 'externalID')) {
    found.add(fieldForbidden('spec.externalID', 'node updates may only change labels, taints, or capacity'))
  }
}

function checkAddresses(object: AnyObject, found: Findings): void {
  const seen = new Set<string>()
  for (const [at, address] of objectsMember(objectMember(object, 'status'), 'addresses').entries()) {
    const given = `${textMember(address, 'type')} ${textMember(address, 'address')}`
    if (seen.has(given)) found.add(duplicate(`status.addresses[${at}]`, address))
    seen.add(given)
  }
}
