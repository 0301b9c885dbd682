import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { numberMember, objectMember, objectsMember, textsMember } from '../../api/json.ts'
import { Findings } from '../../api/errors/findings.ts'
import type { AssignContext, ClaimedValue, ClaimRules } from '../../registry/kinds/claim-rules.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { assignAddresses } from './assign-addresses.ts'
import { assignFamilies, hasUnknownFamily, withFamilies } from './assign-families.ts'
import { assignNodePorts } from './assign-node-ports.ts'
import { addressClaim, portClaim } from './claimed-values.ts'
import { checkServiceAddresses } from './service-addresses.ts'
import type { Assignment } from './service-assignment.ts'
import type { ServiceRanges } from './service-ranges.ts'

/**
 * Cluster IPs, node ports and ports of health checks: each belongs to one Service. Uniqueness does
 * not depend on the ranges, which only bound what is assigned: members with different ranges assign
 * different values, but none twice.
 */
export function serviceClaims(ranges: ServiceRanges): ClaimRules {
  return {
    plural: 'serviceclaims',
    valuesOf,
    assign: (object, current, context) => assign(object, current, ranges, context),
  }
}

function valuesOf(object: AnyObject): readonly ClaimedValue[] {
  const spec = objectMember(object, 'spec')
  const ports = [
    ...objectsMember(spec, 'ports').map((port) => numberMember(port, 'nodePort') ?? 0),
    numberMember(spec, 'healthCheckNodePort') ?? 0,
  ]
  return [
    ...textsMember(spec, 'clusterIPs').flatMap((ip) => addressClaim(ip) ?? []),
    ...[...new Set(ports)].filter((port) => port > 0).map(portClaim),
  ]
}

/** @source upstream `pkg/registry/core/service/storage/alloc.go` */
function assign(
  object: AnyObject,
  current: AnyObject | null,
  ranges: ServiceRanges,
  context: AssignContext,
): AnyObject {
  const spec: JsonObjectDraft = { ...objectMember(object, 'spec') }
  // Validation reports what is invalid regardless of other Services.
  if (isWrong(spec)) return object
  const assignment: Assignment = {
    ...context,
    ...{ ranges, name: object.metadata.name ?? '' },
    before: current === null ? null : withFamilies(objectMember(current, 'spec')),
  }
  assignFamilies(spec, assignment)
  assignAddresses(spec, assignment)
  assignNodePorts(spec, assignment)
  return { ...object, spec }
}

function isWrong(spec: JsonObject): boolean {
  const found = new Findings()
  checkServiceAddresses(spec, found)
  return found.count > 0 || hasUnknownFamily(spec)
}
