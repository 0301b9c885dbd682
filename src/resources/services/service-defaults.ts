import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import {
  equalJson,
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../api/json.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

const AFFINITY_SECONDS = 10_800

/** @source upstream `pkg/apis/core/v1`, SetDefaults_Service */
export function fillService(object: AnyObject): AnyObject {
  const spec: JsonObjectDraft = { ...objectMember(object, 'spec') }
  const type = textMember(spec, 'type')
  const isExternal = type === 'NodePort' || type === 'LoadBalancer'
  if (spec['ports'] !== undefined) spec['ports'] = objectsMember(spec, 'ports').map(withTarget)
  if (textMember(spec, 'sessionAffinity') === 'ClientIP') {
    const clientIP = objectMember(objectMember(spec, 'sessionAffinityConfig'), 'clientIP')
    spec['sessionAffinityConfig'] = { clientIP: { timeoutSeconds: AFFINITY_SECONDS, ...clientIP } }
  } else {
    delete spec['sessionAffinityConfig']
  }
  if (isExternal && textMember(spec, 'externalTrafficPolicy') === '')
    spec['externalTrafficPolicy'] = 'Cluster'
  if (isExternal || type === 'ClusterIP') spec['internalTrafficPolicy'] ??= 'Cluster'
  if (type === 'LoadBalancer') spec['allocateLoadBalancerNodePorts'] ??= true
  return { ...object, spec }
}

function withTarget(port: JsonObject): JsonObject {
  const target = memberOf(port, 'targetPort')
  const isSet = target !== undefined && target !== 0 && target !== ''
  return isSet ? port : { ...port, targetPort: numberMember(port, 'port') ?? 0 }
}

/** Returns a new Service whose `clusterIPs` follow from its `clusterIP`. */
export function withAddressList(object: AnyObject): AnyObject {
  const spec = objectMember(object, 'spec')
  const ip = textMember(spec, 'clusterIP')
  if (ip === '' || textsMember(spec, 'clusterIPs').length > 0) return object
  return { ...object, spec: { ...spec, clusterIPs: [ip] } }
}

/**
 * Returns a changed Service with what clients left out: addresses and ports that it has already,
 * and without members that its new type does not use, unless the client changed them.
 *
 * @source upstream `pkg/registry/core/service`, patchAllocatedValues and dropTypeDependentFields
 */
export function carriedOver(object: AnyObject, current: AnyObject): AnyObject {
  const before = objectMember(current, 'spec')
  const spec: JsonObjectDraft = { ...objectMember(object, 'spec') }
  followAddress(spec, before)
  if (hasClusterIp(spec) && hasClusterIp(before)) {
    if (textMember(spec, 'clusterIP') === '') keep(spec, before, 'clusterIP')
    if (textsMember(spec, 'clusterIPs').length === 0 && equalMembers(spec, before, 'clusterIP'))
      keep(spec, before, 'clusterIPs')
  }
  if (hasNodePorts(spec) && hasNodePorts(before)) keepNodePorts(spec, before)
  dropUnused(spec, before)
  return { ...object, spec }
}

/** A change of `clusterIP` alone also changes the first of `clusterIPs`. */
function followAddress(spec: JsonObjectDraft, before: JsonObject): void {
  const [ip, ips] = [textMember(spec, 'clusterIP'), textsMember(spec, 'clusterIPs')]
  if (ips.length === 0) {
    if (ip !== '' && !equalMembers(spec, before, 'clusterIP')) spec['clusterIPs'] = [ip]
    return
  }
  if (equalMembers(spec, before, 'clusterIP') || !equalMembers(spec, before, 'clusterIPs')) return
  if (ip === '') delete spec['clusterIPs']
  else spec['clusterIPs'] = ips.with(0, ip)
}

/**
 * Keeps the node port of each port. A port is identified by its name, because the client may change
 * everything else of it. A node port that the client names for another port is not kept.
 */
function keepNodePorts(spec: JsonObjectDraft, before: JsonObject): void {
  if (memberOf(spec, 'ports') === undefined) return
  const ports = objectsMember(spec, 'ports')
  const named = new Set(ports.map(nodePortOf))
  const old = new Map(
    objectsMember(before, 'ports').map((port) => [textMember(port, 'name'), nodePortOf(port)] as const),
  )
  spec['ports'] = ports.map((port) => {
    const kept = old.get(textMember(port, 'name')) ?? 0
    return nodePortOf(port) !== 0 || kept === 0 || named.has(kept) ? port : { ...port, nodePort: kept }
  })
}

function nodePortOf(port: JsonObject): number {
  return numberMember(port, 'nodePort') ?? 0
}

function dropUnused(spec: JsonObjectDraft, before: JsonObject): void {
  const drop = (name: string): void => {
    if (equalMembers(spec, before, name)) delete spec[name]
  }
  const type = textMember(spec, 'type')
  if (hasClusterIp(before) && !hasClusterIp(spec))
    for (const name of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) drop(name)
  if (hasNodePorts(before) && !hasNodePorts(spec)) {
    if (samePorts(spec, before)) spec['ports'] = objectsMember(spec, 'ports').map(withoutNodePort)
    drop('externalTrafficPolicy')
  }
  if (textMember(before, 'type') !== 'LoadBalancer' || type === 'LoadBalancer') return
  for (const name of ['healthCheckNodePort', 'allocateLoadBalancerNodePorts', 'loadBalancerClass']) drop(name)
}

function withoutNodePort(port: JsonObject): JsonObject {
  const draft: JsonObjectDraft = { ...port }
  delete draft['nodePort']
  return draft
}

function samePorts(spec: JsonObject, before: JsonObject): boolean {
  const ofAll = (of: JsonObject): string[] =>
    objectsMember(of, 'ports').map((port) => String(nodePortOf(port)))
  return equalJson(ofAll(spec), ofAll(before))
}

function keep(spec: JsonObjectDraft, before: JsonObject, name: string): void {
  const value = memberOf(before, name)
  if (value !== undefined) spec[name] = value
}

function equalMembers(spec: JsonObject, before: JsonObject, name: string): boolean {
  return equalJson(memberOf(spec, name), memberOf(before, name))
}

function hasClusterIp(spec: JsonObject): boolean {
  return textMember(spec, 'type') !== 'ExternalName'
}

function hasNodePorts(spec: JsonObject): boolean {
  return ['NodePort', 'LoadBalancer'].includes(textMember(spec, 'type'))
}
