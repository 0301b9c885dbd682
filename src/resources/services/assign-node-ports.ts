import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { memberOf, numberMember, objectsMember, textMember } from '../../api/json.ts'
import { portClaim } from './claimed-values.ts'
import { FreeOffsets } from './free-offsets.ts'
import { invalidMember, rangeFull } from './service-assignment.ts'
import type { Assignment } from './service-assignment.ts'

const HEALTH_CHECK_PORT = 'spec.healthCheckNodePort'
const ALLOCATED = 'provided port is already allocated'

/**
 * Gives the Service the node ports that its type needs, and checks those that the client names.
 * Node ports that it has already stay, whatever the range is now.
 *
 * @throws ApiError
 * @source upstream `pkg/registry/core/service/storage/alloc.go`, initNodePorts and updateNodePorts
 */
export function assignNodePorts(spec: JsonObjectDraft, assignment: Assignment): void {
  const picker = new PortPicker(spec, assignment)
  if (hasNodePorts(spec) && memberOf(spec, 'ports') !== undefined) {
    // A new Service has one node port for all protocols of a port, as clients of DNS need.
    const shared = assignment.before === null ? namedByPort(spec) : null
    spec['ports'] = objectsMember(spec, 'ports').map((port, index) => {
      const named = numberMember(port, 'nodePort') ?? 0
      if (named !== 0) {
        picker.check(named, `spec.ports[${index}].nodePort`)
        return port
      }
      if (!assigns(spec)) return port
      const number = numberMember(port, 'port') ?? 0
      const nodePort = shared?.get(number) ?? picker.pick('a nodePort')
      shared?.set(number, nodePort)
      return { ...port, nodePort }
    })
  }
  assignHealthCheckPort(spec, assignment, picker)
}

function assignHealthCheckPort(spec: JsonObjectDraft, assignment: Assignment, picker: PortPicker): void {
  const { before } = assignment
  const named = numberMember(spec, 'healthCheckNodePort') ?? 0
  const old = before !== null && needsHealthCheck(before) ? healthCheckPort(before) : 0
  if (!needsHealthCheck(spec)) {
    // A change of the type or the policy releases the port, unless the client names another one.
    if (named !== 0 && named === old) delete spec['healthCheckNodePort']
    return
  }
  const port = named === 0 ? old : named
  if (port === 0) {
    spec['healthCheckNodePort'] = picker.pick('a HealthCheck NodePort')
    return
  }
  spec['healthCheckNodePort'] = port
  picker.check(port, HEALTH_CHECK_PORT)
  // Nodes answer health checks themselves, so a port of the Service cannot have the same number.
  const isShared = objectsMember(spec, 'ports').some((one) => numberMember(one, 'nodePort') === port)
  if (isShared) throw invalidMember(assignment, HEALTH_CHECK_PORT, port, ALLOCATED)
}

/** Returns whether nodes answer health checks of the load balancer of a Service. */
export function needsHealthCheck(spec: JsonObject): boolean {
  return textMember(spec, 'type') === 'LoadBalancer' && textMember(spec, 'externalTrafficPolicy') === 'Local'
}

export function healthCheckPort(spec: JsonObject): number {
  return numberMember(spec, 'healthCheckNodePort') ?? 0
}

function hasNodePorts(spec: JsonObject): boolean {
  return ['NodePort', 'LoadBalancer'].includes(textMember(spec, 'type'))
}

function assigns(spec: JsonObject): boolean {
  return textMember(spec, 'type') === 'NodePort' || memberOf(spec, 'allocateLoadBalancerNodePorts') !== false
}

/** Returns the first node port that is named for each port. */
function namedByPort(spec: JsonObject): Map<number, number> {
  const named = new Map<number, number>()
  for (const port of objectsMember(spec, 'ports')) {
    const [number, nodePort] = [numberMember(port, 'port') ?? 0, numberMember(port, 'nodePort') ?? 0]
    if (nodePort !== 0 && !named.has(number)) named.set(number, nodePort)
  }
  return named
}

function numbersOf(spec: JsonObject): ReadonlySet<number> {
  const ports = objectsMember(spec, 'ports').map((port) => numberMember(port, 'nodePort') ?? 0)
  return new Set([...ports, healthCheckPort(spec)])
}

class PortPicker {
  readonly #assignment: Assignment
  /** Node ports that the Service has already. */
  readonly #held: ReadonlySet<number>
  readonly #free: FreeOffsets

  constructor(spec: JsonObject, assignment: Assignment) {
    const { ranges, random, before } = assignment
    const { first, count } = ranges.nodePorts
    this.#assignment = assignment
    this.#held = before === null ? new Set() : numbersOf(before)
    const named = numbersOf(spec)
    const isTakenAt = (offset: number): boolean => {
      const port = first + offset
      return named.has(port) || this.#held.has(port) || assignment.isTaken(portClaim(port))
    }
    this.#free = new FreeOffsets({ from: 0, count }, isTakenAt, random)
  }

  /** @throws ApiError */
  check(port: number, field: string): void {
    if (this.#held.has(port)) return
    const { ranges, isTaken } = this.#assignment
    const { first, count, text } = ranges.nodePorts
    const refused = (words: string): never => {
      throw invalidMember(this.#assignment, field, port, words)
    }
    if (port < first || port >= first + count)
      refused(`provided port is not in the valid range. The range of valid ports is ${text}`)
    if (isTaken(portClaim(port))) refused(ALLOCATED)
  }

  /** @throws ApiError */
  pick(what: string): number {
    const { nodePorts } = this.#assignment.ranges
    const offset = this.#free.pick()
    if (offset === null) throw rangeFull(what, nodePorts)
    return nodePorts.first + offset
  }
}
