import {
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { badSeccomp, seccompTypeOf } from './baseline.ts'
import {
  containersOf,
  containersWhere,
  plural,
  quoted,
  securityOf,
  sortedSet,
  spellContainers,
  spellSetters,
} from './check.ts'
import type { Check } from './check.ts'

/** The checks of level restricted. @source upstream `k8s.io/pod-security-admission/policy` */

export const allowPrivilegeEscalation: Check = (pod) => {
  const bad = containersWhere(pod, (security) => memberOf(security, 'allowPrivilegeEscalation') !== false)
  if (bad.length === 0) return null
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${spellContainers(bad)} must set securityContext.allowPrivilegeEscalation=false`,
  }
}

export const dropsCapabilities: Check = (pod) => {
  const of = (security: JsonObject, list: string): readonly string[] =>
    textsMember(objectMember(security, 'capabilities'), list)
  const added = (security: JsonObject): readonly string[] =>
    of(security, 'add').filter((one) => one !== 'NET_BIND_SERVICE')
  const missing = containersWhere(pod, (security) => !of(security, 'drop').includes('ALL'))
  const adding = containersWhere(pod, (security) => added(security).length > 0)
  const which = sortedSet(containersOf(pod).flatMap((one) => added(securityOf(one))))
  const details = [
    ...(missing.length > 0
      ? [`${spellContainers(missing)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(adding.length > 0
      ? [`${spellContainers(adding)} must not include ${quoted(which)} in securityContext.capabilities.add`]
      : []),
  ]
  return details.length === 0 ? null : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

const VOLUME_TYPES: ReadonlySet<string> = new Set([
  ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', 'projected'],
  'secret',
])

export const restrictedVolumes: Check = ({ spec }) => {
  const typeOf = (volume: JsonObject): string =>
    Object.keys(volume).find((name) => name !== 'name') ?? 'unknown'
  const bad = objectsMember(spec, 'volumes').filter((volume) => !VOLUME_TYPES.has(typeOf(volume)))
  if (bad.length === 0) return null
  const names = bad.map((volume) => textMember(volume, 'name'))
  const types = sortedSet(bad.map(typeOf))
  const what = plural('restricted volume type', 'restricted volume types', types.length)
  const volumes = plural('volume', 'volumes', bad.length)
  return {
    reason: 'restricted volume types',
    detail: `${volumes} ${quoted(names)} ${plural('uses', 'use', bad.length)} ${what} ${quoted(types)}`,
  }
}

export const runAsNonRoot: Check = (pod) => {
  const reason = 'runAsNonRoot != true'
  const ofPod = memberOf(securityOf(pod.spec), 'runAsNonRoot')
  const explicit = containersWhere(pod, (security) => memberOf(security, 'runAsNonRoot') === false)
  if (ofPod === false || explicit.length > 0) {
    const setters = spellSetters(ofPod === false, explicit)
    return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` }
  }
  if (ofPod === true) return null
  const implicit = containersWhere(pod, (security) => memberOf(security, 'runAsNonRoot') !== true)
  if (implicit.length === 0) return null
  return { reason, detail: `pod or ${spellContainers(implicit)} must set securityContext.runAsNonRoot=true` }
}

export const runAsUser: Check = (pod) => {
  const isRoot = (security: JsonObject): boolean => numberMember(security, 'runAsUser') === 0
  const ofPod = isRoot(securityOf(pod.spec))
  const bad = containersWhere(pod, isRoot)
  if (!ofPod && bad.length === 0) return null
  return { reason: 'runAsUser=0', detail: `${spellSetters(ofPod, bad)} must not set runAsUser=0` }
}

export const hasSeccompProfile: Check = (pod) => {
  const bad = badSeccomp(pod)
  if (bad !== null) return bad
  if (seccompTypeOf(securityOf(pod.spec)) !== '') return null
  const implicit = containersWhere(pod, (security) => seccompTypeOf(security) === '')
  if (implicit.length === 0) return null
  return {
    reason: 'seccompProfile',
    detail: `pod or ${spellContainers(implicit)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  }
}
