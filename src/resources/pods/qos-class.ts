import type { JsonObject } from '../../api/json.ts'
import { objectMember, objectsMember, textMember } from '../../api/json.ts'
import { compareQuantities, parseQuantity } from '../../api/schema/quantity.ts'
import type { Quantity } from '../../api/schema/quantity.ts'

/**
 * Returns the QoS class of a Pod, which determines the order of evictions: Guaranteed has equal
 * requests and limits of CPU and memory for each container, BestEffort has neither.
 *
 * @source core `pkg/apis/core/helper/qos`, ComputePodQOS
 */
export function qosClassOf(spec: JsonObject): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const containers = [...objectsMember(spec, 'containers'), ...objectsMember(spec, 'initContainers')]
  const resources = containers.map((container) => objectMember(container, 'resources'))
  const isAnySet = resources.some((one) =>
    computed.some((name) => amount(one, 'limits', name) !== null || amount(one, 'requests', name) !== null),
  )
  if (!isAnySet) return 'BestEffort'
  const isExact = resources.every((one) => computed.every((name) => isSame(one, name)))
  return isExact ? 'Guaranteed' : 'Burstable'
}

/** The resources that determine the QoS class. */
const computed = ['cpu', 'memory']

function isSame(resources: JsonObject, name: string): boolean {
  const limit = amount(resources, 'limits', name)
  const request = amount(resources, 'requests', name)
  return limit !== null && request !== null && compareQuantities(limit, request) === 0
}

/** @returns null: it is unset or zero */
function amount(resources: JsonObject, member: string, name: string): Quantity | null {
  const quantity = parseQuantity(textMember(objectMember(resources, member), name))
  return quantity === null || quantity.nanos <= 0n ? null : quantity
}
