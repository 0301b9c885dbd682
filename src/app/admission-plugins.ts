import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { alwaysAdmit, alwaysDeny, namespaceExists } from '../admission/always.ts'
import { alwaysPullImages } from '../admission/always-pull-images.ts'
import { certificateApproval, certificateSigning } from '../admission/certificate-permissions.ts'
import { certificateSubjectRestriction } from '../admission/certificate-subject.ts'
import { admissionChain } from '../admission/chain.ts'
import type { AdmissionObserver, AdmissionPlugin } from '../admission/chain.ts'
import { defaultIngressClass } from '../admission/default-ingress-class.ts'
import { defaultTolerationSeconds } from '../admission/default-tolerations.ts'
import { eventLimitsShape, eventRateLimit, readEventLimits } from '../admission/event-rate-limit.ts'
import { extendedResourceToleration } from '../admission/extended-resource-toleration.ts'
import { limitedResourcesShape, readLimitedResources } from '../admission/limited-resources.ts'
import { limitRanger } from '../admission/limit-ranger.ts'
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts'
import { nodeRestriction } from '../admission/node-restriction.ts'
import { ownerReferencesPermissionEnforcement } from '../admission/owner-references.ts'
import { checkConfigurationShape } from '../admission/plugin-configuration.ts'
import type { ConfigurationShape } from '../admission/plugin-configuration.ts'
import {
  podSecurityConfigurationShape,
  readPodSecurityConfiguration,
} from '../admission/pod-security/configuration.ts'
import { podSecurity } from '../admission/pod-security/pod-security.ts'
import { priorityAdmission } from '../admission/priority.ts'
import { resourceQuotaAdmission } from '../admission/resource-quota.ts'
import { roleEscalation } from '../admission/role-escalation.ts'
import { runtimeClassAdmission } from '../admission/runtime-class.ts'
import { serviceAccountAdmission } from '../admission/service-account.ts'
import { storageProtectionAdmission } from '../admission/storage-protection.ts'
import { defaultStorageClass, persistentVolumeClaimResize } from '../admission/storage-classes.ts'
import { taintNodesByCondition } from '../admission/taint-nodes.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { grantCheck } from '../auth/grants.ts'
import type { RuleSource } from '../auth/rules.ts'
import type { AdmissionPluginName } from '../config/admission-plugins-flag.ts'
import { StartError } from '../config/start-error.ts'
import type { Admission } from '../registry/calls/admission.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { apiVersionOf } from '../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import type { AccessReviewer } from '../registry/kinds/access-reviewer.ts'
import { readCertificateRequest } from '../pki/certificate-request.ts'
import { PkiError } from '../pki/errors.ts'
import { serviceAccountDefinition } from '../resources/service-account.ts'
import type { AdmissionWebhooks } from './admission-webhooks.ts'

export type AdmissionDependencies = {
  readonly names: Names
  readonly clock: Clock
  readonly random: Random
  readonly reviewers: AccessReviewer
  readonly rules: RuleSource
  readonly catalog: Catalog
  /** Returns the configuration of a plugin in the file. null, or unset: the file lacks it. */
  readonly configurationOf?: (plugin: AdmissionPluginName) => JsonObject | null
  /** Unset: no webhooks are called. */
  readonly webhooks?: Pick<AdmissionWebhooks, 'mutating' | 'validating'>
  /** Unset: nothing is measured. */
  readonly observer?: AdmissionObserver
}

/**
 * Builds each plugin that `--enable-admission-plugins` knows. null: the plugin is left out, because
 * its dependency is unset.
 */
const builders: {
  readonly [name in AdmissionPluginName]: (
    dependencies: AdmissionDependencies,
    before: readonly AdmissionPlugin[],
  ) => AdmissionPlugin | null
} = {
  AlwaysAdmit: alwaysAdmit,
  NamespaceLifecycle: namespaceLifecycle,
  NamespaceExists: namespaceExists,
  LimitRanger: limitRanger,
  ServiceAccount: (dependencies) =>
    serviceAccountAdmission({ ...dependencies, definition: serviceAccountDefinition(dependencies.names) }),
  NodeRestriction: nodeRestriction,
  TaintNodesByCondition: taintNodesByCondition,
  AlwaysPullImages: alwaysPullImages,
  PodSecurity: (dependencies) => {
    const given = configurationOf(dependencies, 'PodSecurity', podSecurityConfigurationShape) ?? {}
    const configuration = readPodSecurityConfiguration(given, problemOf('PodSecurity'))
    return podSecurity({ ...dependencies, configuration })
  },
  Priority: priorityAdmission,
  DefaultTolerationSeconds: defaultTolerationSeconds,
  EventRateLimit: (dependencies) => {
    const given = configurationOf(dependencies, 'EventRateLimit', eventLimitsShape)
    return eventRateLimit({ ...dependencies, limits: readEventLimits(given, problemOf('EventRateLimit')) })
  },
  ExtendedResourceToleration: extendedResourceToleration,
  DefaultStorageClass: defaultStorageClass,
  StorageObjectInUseProtection: storageProtectionAdmission,
  OwnerReferencesPermissionEnforcement: ({ clock, reviewers, catalog }) =>
    ownerReferencesPermissionEnforcement({ clock, reviewers, kindOf: (...of) => kindOf(catalog, ...of) }),
  PersistentVolumeClaimResize: persistentVolumeClaimResize,
  RuntimeClass: runtimeClassAdmission,
  CertificateApproval: certificateApproval,
  CertificateSigning: certificateSigning,
  CertificateSubjectRestriction: ({ names }) => certificateSubjectRestriction({ names, organizationsIn }),
  DefaultIngressClass: defaultIngressClass,
  MutatingAdmissionWebhook: ({ webhooks }, before) => {
    // An object that a webhook changed passes the plugins before this one again.
    const chain = admissionChain(before)
    return webhooks?.mutating((request) => chain.mutate(request)) ?? null
  },
  ValidatingAdmissionWebhook: ({ webhooks }) => webhooks?.validating() ?? null,
  ResourceQuota: (dependencies) => {
    const given = configurationOf(dependencies, 'ResourceQuota', limitedResourcesShape)
    const limited = readLimitedResources(given, problemOf('ResourceQuota'))
    return resourceQuotaAdmission({ ...dependencies, limited })
  },
  AlwaysDeny: alwaysDeny,
}

/**
 * Returns the chain of the enabled plugins, in the order given. The first check is that users grant
 * only permissions that they have. No flag disables it, because upstream has it in the storage of
 * roles.
 */
export function admissionOf(
  dependencies: AdmissionDependencies,
  enabled: readonly AdmissionPluginName[],
): Admission {
  const { names, reviewers, rules, observer } = dependencies
  const plugins: AdmissionPlugin[] = [roleEscalation({ names, reviewers, grants: grantCheck(rules) })]
  for (const name of enabled) {
    const plugin = builders[name](dependencies, [...plugins])
    if (plugin !== null) plugins.push(plugin)
  }
  return admissionChain(plugins, observer)
}

/** @param request in base64. @returns null: not a certificate request, which validation refuses */
function organizationsIn(request: string): readonly string[] | null {
  try {
    return readCertificateRequest(Buffer.from(request, 'base64').toString('latin1')).subject.organizations
  } catch (cause) {
    if (cause instanceof PkiError) return null
    throw cause
  }
}

/**
 * Returns the configuration of a plugin after a check of its shape. @returns null: not configured
 */
function configurationOf(
  dependencies: AdmissionDependencies,
  plugin: AdmissionPluginName,
  shapeIn: (names: Names, given: JsonObject) => ConfigurationShape,
): JsonObject | null {
  const given = dependencies.configurationOf?.(plugin) ?? null
  if (given !== null) checkConfigurationShape(given, shapeIn(dependencies.names, given), problemOf(plugin))
  return given
}

/** Returns a function that reports what is wrong with the configuration of a plugin. */
function problemOf(plugin: AdmissionPluginName): (words: string) => never {
  return (words) => {
    throw new StartError('usage', `configuration of the admission plugin ${plugin}: ${words}`)
  }
}

function kindOf(catalog: Catalog, apiVersion: string, kind: string): ResourceDefinition | null {
  return catalog.all().find((one) => one.kind === kind && apiVersionOf(one) === apiVersion) ?? null
}
