import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid, required } from '../../api/errors/field-error.ts'
import { goIntOrString } from '../../api/errors/go-values.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { isJsonObject, memberOf, numberMember, objectsMember, textMember } from '../../api/json.ts'
import { checkDns1123Label } from '../../api/metadata/name-rules.ts'
import { checkPort } from '../containers/port.ts'

/** The port of the kubelet on each node. */
const AGENT_PORT = 10_250

/**
 * Checks the ports of a Service: names, target ports, duplicates and node ports, and that a load
 * balancer does not expose the port of the kubelet.
 *
 * @source upstream `pkg/apis/core/validation`, ValidateService and validateServicePort
 */
export function checkServicePorts(spec: JsonObject, found: Findings): void {
  const ports = objectsMember(spec, 'ports')
  const type = textMember(spec, 'type')
  const seen = { names: new Set<string>(), ports: new Set<string>(), nodePorts: new Set<string>() }
  for (const [index, port] of ports.entries()) {
    const at = `spec.ports[${index}]`
    checkName(port, at, { isOneOfMany: ports.length > 1, names: seen.names }, found)
    checkPort(memberOf(port, 'targetPort'), `${at}.targetPort`, found)
    const number = numberMember(port, 'port') ?? 0
    const protocol = textMember(port, 'protocol')
    if (seen.ports.has(`${protocol}/${number}`))
      found.add(duplicate(at, { protocol, port: number }, portText))
    seen.ports.add(`${protocol}/${number}`)
    if (type === 'LoadBalancer' && number === AGENT_PORT) {
      const words = `may not expose port ${AGENT_PORT} externally since it is used by kubelet`
      found.add(invalid(at, number, words))
    }
    checkNodePort(port, at, { type, taken: seen.nodePorts }, found)
  }
}

/** Formats the two members by which ports are compared as upstream does: the others are unset. */
function portText(value: Json | undefined): string {
  const port = isJsonObject(value) ? value : {}
  const protocol = JSON.stringify(textMember(port, 'protocol'))
  return (
    `core.ServicePort{Name:"", Protocol:${protocol}, AppProtocol:(*string)(nil), ` +
    `Port:${numberMember(port, 'port') ?? 0}, TargetPort:${goIntOrString(0)}, NodePort:0}`
  )
}

type Named = { readonly isOneOfMany: boolean; readonly names: Set<string> }

function checkName(port: JsonObject, at: string, { isOneOfMany, names }: Named, found: Findings): void {
  const name = textMember(port, 'name')
  if (name === '') {
    if (isOneOfMany) found.add(required(`${at}.name`))
    return
  }
  for (const words of checkDns1123Label(name)) found.add(invalid(`${at}.name`, name, words))
  if (names.has(name)) found.add(duplicate(`${at}.name`, name))
  names.add(name)
}

type NodePorts = { readonly type: string; readonly taken: Set<string> }

function checkNodePort(port: JsonObject, at: string, { type, taken }: NodePorts, found: Findings): void {
  const nodePort = numberMember(port, 'nodePort') ?? 0
  if (nodePort === 0) return
  if (type === 'ClusterIP' || type === 'ExternalName')
    found.add(fieldForbidden(`${at}.nodePort`, `may not be used when \`type\` is '${type}'`))
  const key = `${textMember(port, 'protocol')}/${nodePort}`
  if (taken.has(key)) found.add(duplicate(`${at}.nodePort`, nodePort))
  taken.add(key)
}

/** Returns ports as `80/TCP,443:30443/TCP`. */
export function servicePortsText(spec: JsonObject): string {
  const texts = objectsMember(spec, 'ports').map((port) => {
    const nodePort = numberMember(port, 'nodePort') ?? 0
    const middle = nodePort > 0 ? `:${nodePort}` : ''
    return `${numberMember(port, 'port') ?? 0}${middle}/${textMember(port, 'protocol')}`
  })
  return texts.length === 0 ? '<none>' : texts.join(',')
}
