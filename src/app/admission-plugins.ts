import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { certificateApproval, certificateSigning } from '../admission/certificate-permissions.ts'
import { admissionChain } from '../admission/chain.ts'
import type { AdmissionPlugin } from '../admission/chain.ts'
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts'
import { roleEscalation } from '../admission/role-escalation.ts'
import { serviceAccountAdmission } from '../admission/service-account.ts'
import { storageProtectionAdmission } from '../admission/storage-protection.ts'
import type { Names } from '../api/metadata/names.ts'
import { grantCheck } from '../auth/grants.ts'
import type { RuleSource } from '../auth/rules.ts'
import type { AdmissionPluginName } from '../config/admission-plugins-flag.ts'
import type { Admission } from '../registry/calls/admission.ts'
import type { AccessReviewer } from '../registry/kinds/access-reviewer.ts'
import { serviceAccountDefinition } from '../resources/service-account.ts'

export type AdmissionDependencies = {
  readonly names: Names
  readonly clock: Clock
  readonly random: Random
  readonly reviewers: AccessReviewer
  readonly rules: RuleSource
}

/**
 * Builds each plugin that `--enable-admission-plugins` knows. null: it is not part of this server
 * yet.
 */
const builders: {
  readonly [name in AdmissionPluginName]: ((dependencies: AdmissionDependencies) => AdmissionPlugin) | null
} = {
  AlwaysAdmit: null,
  NamespaceLifecycle: namespaceLifecycle,
  NamespaceExists: null,
  LimitRanger: null,
  ServiceAccount: (dependencies) =>
    serviceAccountAdmission({ ...dependencies, definition: serviceAccountDefinition(dependencies.names) }),
  NodeRestriction: null,
  TaintNodesByCondition: null,
  AlwaysPullImages: null,
  PodSecurity: null,
  Priority: null,
  DefaultTolerationSeconds: null,
  EventRateLimit: null,
  ExtendedResourceToleration: null,
  DefaultStorageClass: null,
  StorageObjectInUseProtection: storageProtectionAdmission,
  OwnerReferencesPermissionEnforcement: null,
  PersistentVolumeClaimResize: null,
  RuntimeClass: null,
  CertificateApproval: certificateApproval,
  CertificateSigning: certificateSigning,
  CertificateSubjectRestriction: null,
  DefaultIngressClass: null,
  MutatingAdmissionWebhook: null,
  ValidatingAdmissionWebhook: null,
  ResourceQuota: null,
  AlwaysDeny: null,
}

/**
 * Returns the chain of the enabled plugins, in the order given. What protects roles is not a plugin
 * that a flag could disable: upstream's storage of roles does it.
 */
export function admissionOf(
  dependencies: AdmissionDependencies,
  enabled: readonly AdmissionPluginName[],
): Admission {
  const { names, reviewers, rules } = dependencies
  return admissionChain([
    roleEscalation({ names, reviewers, grants: grantCheck(rules) }),
    ...enabled.flatMap((name) => {
      const build = builders[name]
      return build === null ? [] : [build(dependencies)]
    }),
  ])
}
