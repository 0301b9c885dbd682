import { isJsonObject, memberOf, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ConfigurationShape } from '../plugin-configuration.ts'
import { isLevel, LEVELS, MODES, parseVersion, PRIVILEGED } from './policy.ts'
import type { Mode, Policies, Policy } from './policy.ts'

/** @source upstream `k8s.io/pod-security-admission/admission/api` */
export function podSecurityConfigurationShape(names: Names): ConfigurationShape {
  const group = names.group('pod-security.admission.config')
  return {
    kind: 'PodSecurityConfiguration',
    apiVersions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${group}/${version}`),
    members: ['defaults', 'exemptions'],
  }
}

/** The policies of namespaces without labels, and the exemptions from all policies. */
export type PodSecurityConfiguration = {
  readonly defaults: Policies
  readonly exemptions: {
    readonly usernames: ReadonlySet<string>
    readonly namespaces: ReadonlySet<string>
    readonly runtimeClasses: ReadonlySet<string>
  }
}

/**
 * Reads a `PodSecurityConfiguration` of the group `pod-security.admission.config`, whose shape was
 * checked.
 *
 * @param problem called with each thing that is wrong
 * @source upstream `k8s.io/pod-security-admission/admission/api`
 */
export function readPodSecurityConfiguration(
  given: JsonObject,
  problem: (words: string) => void,
): PodSecurityConfiguration {
  for (const name of ['defaults', 'exemptions']) {
    if (!isJsonObject(memberOf(given, name) ?? {})) problem(`${name}: must be an object`)
  }
  const defaults = objectMember(given, 'defaults')
  const policyOf = (mode: Mode): Policy => {
    const level = textMember(defaults, mode) || PRIVILEGED.level
    const version = parseVersion(textMember(defaults, `${mode}-version`) || 'latest')
    if (!isLevel(level)) problem(`defaults.${mode}: must be one of ${LEVELS.join(', ')}`)
    if (version === null) problem(`defaults.${mode}-version: must be "latest" or "v1.x"`)
    return { level: isLevel(level) ? level : 'restricted', minor: version?.minor ?? null }
  }
  const known: readonly string[] = MODES.flatMap((mode) => [mode, `${mode}-version`])
  for (const name of Object.keys(defaults))
    if (!known.includes(name)) problem(`defaults.${name}: unknown field`)
  const exemptions = objectMember(given, 'exemptions')
  const setOf = (name: string): ReadonlySet<string> => new Set(textsMember(exemptions, name))
  for (const name of Object.keys(exemptions)) {
    if (!['usernames', 'namespaces', 'runtimeClasses'].includes(name))
      problem(`exemptions.${name}: unknown field`)
    else if (!Array.isArray(memberOf(exemptions, name)))
      problem(`exemptions.${name}: must be a list of names`)
  }
  return {
    defaults: { enforce: policyOf('enforce'), audit: policyOf('audit'), warn: policyOf('warn') },
    exemptions: {
      usernames: setOf('usernames'),
      namespaces: setOf('namespaces'),
      runtimeClasses: setOf('runtimeClasses'),
    },
  }
}
