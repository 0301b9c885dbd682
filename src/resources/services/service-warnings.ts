import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { isHeadless } from './service-addresses.ts'

/** Warns of the addresses and ports that a Service needs and that the server does not assign. */
export function* serviceWarnings(object: AnyObject): Iterable<string> {
  const spec = objectMember(object, 'spec')
  const type = textMember(spec, 'type')
  if (type === 'ExternalName' || isHeadless(spec)) return
  if (textMember(spec, 'clusterIP') === '') {
    yield (
      'spec.clusterIP: this Service gets no cluster IP: this release assigns none. ' +
      'Set one, or None for a headless Service'
    )
  }
  if (!needsNodePorts(spec, type)) return
  for (const [index, port] of objectsMember(spec, 'ports').entries()) {
    if ((numberMember(port, 'nodePort') ?? 0) === 0)
      yield `spec.ports[${index}].nodePort: this port gets no node port: this release assigns none. Set one`
  }
}

function needsNodePorts(spec: JsonObject, type: string): boolean {
  if (type === 'NodePort') return true
  return type === 'LoadBalancer' && memberOf(spec, 'allocateLoadBalancerNodePorts') !== false
}
