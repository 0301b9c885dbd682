import type { ClaimedValue } from '../registry/kinds/claim-rules.ts'
import { offsetIn } from '../resources/services/service-ranges.ts'
import type { ServiceRanges } from '../resources/services/service-ranges.ts'
import type { EventText } from './event-object.ts'

/** Returns the event about a value whose claim was missing, and that is claimed again. */
export function notAllocated({ set, value }: ClaimedValue): EventText {
  return set === 'nodeport'
    ? warning('PortNotAllocated', `Port ${value} is not allocated; repairing`)
    : warning('ClusterIPNotAllocated', `Cluster IP ${addressText(set, value)} is not allocated; repairing`)
}

/** Returns the event about a value that several Services have. */
export function alreadyAllocated({ set, value }: ClaimedValue): EventText {
  const words = 'was assigned to multiple services; please recreate service'
  return set === 'nodeport'
    ? warning('PortAlreadyAllocated', `Port ${value} ${words}`)
    : warning('ClusterIPAlreadyAllocated', `Cluster IP ${addressText(set, value)} ${words}`)
}

/**
 * Returns the event about a value that the ranges of this member do not contain.
 *
 * @returns null: they contain it
 * @source upstream `pkg/registry/core/service/ipallocator/controller/repair.go` and
 * `pkg/registry/core/service/portallocator/controller/repair.go`: reasons and messages
 */
export function outOfRange(
  { addresses, nodePorts }: ServiceRanges,
  { set, value }: ClaimedValue,
): EventText | null {
  if (set === 'nodeport') {
    const { first, count, text } = nodePorts
    const port = Number(value)
    if (port >= first && port < first + count) return null
    const words = `is not within the port range ${text}; please recreate service`
    return warning('PortOutOfRange', `Port ${value} ${words}`)
  }
  const family = familyText(set)
  const range = addresses.find((one) => one.family === family)
  if (range === undefined) {
    const words = 'is of ip family that is no longer configured on cluster; please recreate service'
    return warning('ClusterIPNotValid', `Cluster IP ${value}(${family}) ${words}`)
  }
  if (offsetIn(range, value) !== null) return null
  const words = `is not within the service CIDR ${range.text}; please recreate service`
  return warning('ClusterIPOutOfRange', `Cluster IP ${addressText(set, value)} ${words}`)
}

function addressText(set: string, value: string): string {
  return `[${familyText(set)}]:${value}`
}

function familyText(set: string): string {
  return set === 'ipv4' ? 'IPv4' : 'IPv6'
}

function warning(reason: string, message: string): EventText {
  return { type: 'Warning', reason, message }
}
