import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, keyPath, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import {
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { validateLabels } from '../../api/metadata/object-meta.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { checkIpAddress } from '../common/ip-address.ts'
import { networkFamily } from '../common/network.ts'
import { checkOrdinaryAddress } from '../common/special-address.ts'
import { checkServiceAddresses, isHeadless } from './service-addresses.ts'
import { checkServicePorts } from './service-ports.ts'

const NO_AFFINITY = 'None'

/** @source upstream `pkg/apis/core/validation`, ValidateService */
export function checkService(object: AnyObject, names: Names, found: Findings): void {
  const spec = objectMember(object, 'spec')
  const type = textMember(spec, 'type')
  if (objectsMember(spec, 'ports').length === 0 && !isHeadless(spec) && type !== 'ExternalName')
    found.add(required('spec.ports'))
  if (type === 'ExternalName') checkExternalName(spec, found)
  checkServicePorts(spec, found)
  const selector = objectMember(spec, 'selector')
  const labels = Object.keys(selector).map((key) => [key, textMember(selector, key)] as const)
  validateLabels(Object.fromEntries(labels), 'spec.selector', found)
  if (textMember(spec, 'sessionAffinity') === NO_AFFINITY && Object.hasOwn(spec, 'sessionAffinityConfig')) {
    const words = `must not be set when session affinity is ${NO_AFFINITY}`
    found.add(fieldForbidden('spec.sessionAffinityConfig', words))
  }
  checkServiceAddresses(spec, found)
  checkExternalAddresses(spec, found)
  checkSourceRanges(object, names, found)
  checkLoadBalancerMembers(spec, found)
  checkTraffic(spec, found)
}

function checkExternalName(spec: JsonObject, found: Findings): void {
  const name = textMember(spec, 'externalName').replace(/\.$/, '')
  if (name === '') {
    found.add(required('spec.externalName'))
    return
  }
  for (const words of checkDns1123Subdomain(name)) found.add(invalid('spec.externalName', name, words))
}

function checkExternalAddresses(spec: JsonObject, found: Findings): void {
  for (const [index, ip] of textsMember(spec, 'externalIPs').entries()) {
    const field = `spec.externalIPs[${index}]`
    const wrong = checkIpAddress(ip)
    for (const words of wrong) found.add(invalid(field, ip, words))
    if (wrong.length === 0) checkOrdinaryAddress(ip, field, found)
    if (found.isFull) return
  }
}

/** The ranges are in the spec or, as older clients send them, in an annotation. */
function checkSourceRanges(object: AnyObject, names: Names, found: Findings): void {
  const spec = objectMember(object, 'spec')
  const key = names.labelUnder('service.beta', 'load-balancer-source-ranges')
  const annotated = object.metadata.annotations?.[key]
  const ranges = textsMember(spec, 'loadBalancerSourceRanges')
  if (ranges.length === 0 && annotated === undefined) return
  const isInSpec = ranges.length > 0
  const field = isInSpec ? 'spec.LoadBalancerSourceRanges' : keyPath('metadata.annotations', key)
  if (textMember(spec, 'type') !== 'LoadBalancer')
    found.add(fieldForbidden(field, "may only be used when `type` is 'LoadBalancer'"))
  const given = isInSpec ? ranges : (annotated ?? '').trim() === '' ? [] : (annotated ?? '').split(',')
  if (given.every((range) => networkFamily(range.trim()) !== null)) return
  const words = 'must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 '
  found.add(invalid(field, isInSpec ? `[${ranges.join(' ')}]` : (annotated ?? ''), words))
}

function checkLoadBalancerMembers(spec: JsonObject, found: Findings): void {
  if (textMember(spec, 'type') === 'LoadBalancer') return
  for (const name of ['allocateLoadBalancerNodePorts', 'loadBalancerClass']) {
    if (memberOf(spec, name) !== undefined)
      found.add(fieldForbidden(`spec.${name}`, "may only be used when `type` is 'LoadBalancer'"))
  }
}

/** @source upstream `pkg/apis/core/validation`, ValidateServiceExternalTrafficFieldsCombination */
function checkTraffic(spec: JsonObject, found: Findings): void {
  const type = textMember(spec, 'type')
  const policy = textMember(spec, 'externalTrafficPolicy')
  if (policy !== '' && type !== 'NodePort' && type !== 'LoadBalancer') {
    const words = 'ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service'
    found.add(invalid('spec.externalTrafficPolicy', policy, words))
  }
  const port = numberMember(spec, 'healthCheckNodePort') ?? 0
  if (port === 0 || (type === 'LoadBalancer' && policy === 'Local')) return
  const words = 'HealthCheckNodePort can only be set on LoadBalancer service with ExternalTrafficPolicy=Local'
  found.add(invalid('spec.healthCheckNodePort', port, words))
}
