import {
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import {
  containersOf,
  containersWhere,
  isSet,
  plural,
  quoted,
  securityOf,
  sortedSet,
  spellContainers,
  spellSetters,
} from './check.ts'
import type { Check, CheckedPod, Violation } from './check.ts'

/** The checks of level baseline. @source upstream `k8s.io/pod-security-admission/policy` */

export const appArmorProfile: Check = ({ annotations, names }) => {
  const prefix = names.labelUnder('container.apparmor.security.beta', '')
  const isAllowed = (profile: string): boolean =>
    profile === '' || profile === 'runtime/default' || profile.startsWith('localhost/')
  const forbidden = Object.keys(annotations)
    .filter((key) => key.startsWith(prefix) && !isAllowed(annotations[key] ?? ''))
    .map((key) => `${key}=${JSON.stringify(annotations[key])}`)
  if (forbidden.length === 0) return null
  const reason = plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', forbidden.length)
  return { reason, detail: forbidden.sort().join(', ') }
}

const BASELINE_CAPABILITIES: ReadonlySet<string> = new Set([
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
])

export const capabilities: Check = (pod) => {
  const added = (security: JsonObject): readonly string[] =>
    textsMember(objectMember(security, 'capabilities'), 'add').filter(
      (one) => !BASELINE_CAPABILITIES.has(one),
    )
  const bad = containersWhere(pod, (security) => added(security).length > 0)
  if (bad.length === 0) return null
  const which = sortedSet(containersOf(pod).flatMap((one) => added(securityOf(one))))
  return {
    reason: 'non-default capabilities',
    detail: `${spellContainers(bad)} must not include ${quoted(which)} in securityContext.capabilities.add`,
  }
}

export const hostNamespaces: Check = ({ spec }) => {
  const used = ['hostNetwork', 'hostPID', 'hostIPC'].filter((name) => memberOf(spec, name) === true)
  if (used.length === 0) return null
  return { reason: 'host namespaces', detail: used.map((name) => `${name}=true`).join(', ') }
}

export const hostPathVolumes: Check = ({ spec }) => {
  const bad = objectsMember(spec, 'volumes').filter((volume) => isSet(volume, 'hostPath'))
  if (bad.length === 0) return null
  const names = bad.map((volume) => textMember(volume, 'name'))
  return {
    reason: 'hostPath volumes',
    detail: `${plural('volume', 'volumes', bad.length)} ${quoted(names)}`,
  }
}

export const hostPorts: Check = (pod) => {
  const portsOf = (container: JsonObject): readonly string[] =>
    objectsMember(container, 'ports')
      .map((port) => numberMember(port, 'hostPort') ?? 0)
      .filter((port) => port !== 0)
      .map(String)
  const bad = containersWhere(pod, (_, container) => portsOf(container).length > 0)
  if (bad.length === 0) return null
  const ports = sortedSet(containersOf(pod).flatMap(portsOf))
  const uses = plural('uses', 'use', bad.length)
  const what = plural('hostPort', 'hostPorts', ports.length)
  return { reason: 'hostPort', detail: `${spellContainers(bad)} ${uses} ${what} ${ports.join(', ')}` }
}

export const privileged: Check = (pod) => {
  const bad = containersWhere(pod, (security) => memberOf(security, 'privileged') === true)
  if (bad.length === 0) return null
  return {
    reason: 'privileged',
    detail: `${spellContainers(bad)} must not set securityContext.privileged=true`,
  }
}

export const procMount: Check = (pod) => {
  const typeOf = (security: JsonObject): string => textMember(security, 'procMount')
  const isBad = (security: JsonObject): boolean => !['', 'Default'].includes(typeOf(security))
  const bad = containersWhere(pod, isBad)
  if (bad.length === 0) return null
  const types = sortedSet(containersOf(pod).map(securityOf).filter(isBad).map(typeOf))
  return {
    reason: 'procMount',
    detail: `${spellContainers(bad)} must not set securityContext.procMount to ${quoted(types)}`,
  }
}

const SELINUX_TYPES: readonly string[] = ['', 'container_t', 'container_init_t', 'container_kvm_t']

export const seLinuxOptions: Check = (pod) => {
  const optionsOf = (security: JsonObject): JsonObject => objectMember(security, 'seLinuxOptions')
  const typeOf = (security: JsonObject): string => textMember(optionsOf(security), 'type')
  const isBad = (security: JsonObject): boolean => {
    const options = optionsOf(security)
    const isOwner = textMember(options, 'user') !== '' || textMember(options, 'role') !== ''
    return isOwner || !SELINUX_TYPES.includes(typeOf(security))
  }
  const ofPod = securityOf(pod.spec)
  const bad = containersWhere(pod, isBad)
  if (!isBad(ofPod) && bad.length === 0) return null
  const all = [ofPod, ...containersOf(pod).map(securityOf)]
  const types = sortedSet(all.map(typeOf).filter((type) => !SELINUX_TYPES.includes(type)))
  const sets = (name: string): boolean => all.some((one) => textMember(optionsOf(one), name) !== '')
  const data = [
    ...(types.length > 0 ? [`${plural('type', 'types', types.length)} ${quoted(types)}`] : []),
    ...(sets('user') ? ['user may not be set'] : []),
    ...(sets('role') ? ['role may not be set'] : []),
  ]
  return {
    reason: 'seLinuxOptions',
    detail: `${spellSetters(isBad(ofPod), bad)} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`,
  }
}

export function seccompTypeOf(security: JsonObject): string {
  return textMember(objectMember(security, 'seccompProfile'), 'type')
}

/** Returns the violation of profiles that are set and not allowed. */
export function badSeccomp(pod: CheckedPod): Violation | null {
  const isBad = (security: JsonObject): boolean =>
    !['', 'RuntimeDefault', 'Localhost'].includes(seccompTypeOf(security))
  const ofPod = securityOf(pod.spec)
  const bad = containersWhere(pod, isBad)
  if (!isBad(ofPod) && bad.length === 0) return null
  const types = sortedSet([ofPod, ...containersOf(pod).map(securityOf)].filter(isBad).map(seccompTypeOf))
  return {
    reason: 'seccompProfile',
    detail: `${spellSetters(isBad(ofPod), bad)} must not set securityContext.seccompProfile.type to ${quoted(types)}`,
  }
}

/** Checks annotations, which had the profiles until release 1.19. */
export const seccompAnnotations: Check = (pod) => {
  const { annotations, names } = pod
  const prefix = names.labelUnder('container.seccomp.security.alpha', '')
  const keys = [
    names.labelUnder('seccomp.security.alpha', 'pod'),
    ...containersOf(pod).map((one) => `${prefix}${textMember(one, 'name')}`),
  ]
  const isAllowed = (profile: string): boolean =>
    profile === 'runtime/default' || profile === 'docker/default' || profile.startsWith('localhost/')
  const forbidden = keys
    .filter((key) => annotations[key] !== undefined && !isAllowed(annotations[key]))
    .map((key) => `${key}=${JSON.stringify(annotations[key])}`)
  if (forbidden.length === 0) return null
  const what = plural('annotation', 'annotations', forbidden.length)
  return { reason: 'seccompProfile', detail: `forbidden ${what} ${forbidden.sort().join(', ')}` }
}

const SYSCTLS: ReadonlySet<string> = new Set([
  ...['kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.tcp_syncookies'],
  ...['net.ipv4.ping_group_range', 'net.ipv4.ip_unprivileged_port_start'],
])

export const sysctls: Check = ({ spec }) => {
  const forbidden = objectsMember(securityOf(spec), 'sysctls')
    .map((one) => textMember(one, 'name'))
    .filter((name) => !SYSCTLS.has(name))
  if (forbidden.length === 0) return null
  return { reason: 'forbidden sysctls', detail: forbidden.join(', ') }
}

export const windowsHostProcess: Check = (pod) => {
  const isBad = (security: JsonObject): boolean =>
    memberOf(objectMember(security, 'windowsOptions'), 'hostProcess') === true
  const ofPod = isBad(securityOf(pod.spec))
  const bad = containersWhere(pod, isBad)
  if (!ofPod && bad.length === 0) return null
  return {
    reason: 'hostProcess',
    detail: `${spellSetters(ofPod, bad)} must not set securityContext.windowsOptions.hostProcess=true`,
  }
}
