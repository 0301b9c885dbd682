import type { Names } from '../api/metadata/names.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import {
  localSubjectAccessReviewDefinition,
  selfSubjectAccessReviewDefinition,
  subjectAccessReviewDefinition,
} from './access-reviews.ts'
import { apiServiceDefinition } from './api-service.ts'
import { bindingDefinition } from './binding.ts'
import { certificateSigningRequestDefinition } from './certificate-signing-request.ts'
import { clusterRoleBindingDefinition } from './cluster-role-binding.ts'
import { clusterRoleDefinition } from './cluster-role.ts'
import { componentStatusDefinition } from './component-status.ts'
import { configMapDefinition } from './config-map.ts'
import { csiDriverDefinition } from './csi-driver.ts'
import { csiNodeDefinition } from './csi-node.ts'
import { csiStorageCapacityV1beta1Definition } from './csi-storage-capacity-v1beta1.ts'
import { csiStorageCapacityDefinition } from './csi-storage-capacity.ts'
import { groupedEventDefinition } from './event-in-group.ts'
import { customResourceDefinitionDefinition } from './custom-resource-definition.ts'
import { eventDefinition } from './event.ts'
import { flowSchemaDefinition, flowSchemaV1beta1Definition } from './flow-schema.ts'
import { horizontalPodAutoscalerV1Definition } from './horizontal-pod-autoscaler-v1.ts'
import { horizontalPodAutoscalerV2beta1Definition } from './horizontal-pod-autoscaler-v2beta1.ts'
import {
  horizontalPodAutoscalerDefinition,
  horizontalPodAutoscalerV2beta2Definition,
} from './horizontal-pod-autoscaler.ts'
import { ingressClassDefinition } from './ingress-class.ts'
import { leaseDefinition } from './lease.ts'
import { limitRangeDefinition } from './limit-range.ts'
import { memberDefinition } from './member.ts'
import { mutatingWebhookConfigurationDefinition } from './mutating-webhook-configuration.ts'
import { namespaceDefinition } from './namespace.ts'
import { nodeDefinition } from './node.ts'
import { persistentVolumeClaimDefinition } from './persistent-volume-claim.ts'
import { persistentVolumeDefinition } from './persistent-volume.ts'
import { podSecurityPolicyDefinition } from './pod-security-policy.ts'
import { podTemplateDefinition } from './pod-template.ts'
import { podDefinition } from './pod.ts'
import { priorityClassDefinition } from './priority-class.ts'
import { priorityLevelDefinition, priorityLevelV1beta1Definition } from './priority-level-configuration.ts'
import { resourceQuotaDefinition } from './resource-quota.ts'
import { roleBindingDefinition } from './role-binding.ts'
import { roleDefinition } from './role.ts'
import { runtimeClassDefinition, runtimeClassV1beta1Definition } from './runtime-class.ts'
import { secretDefinition } from './secret.ts'
import { selfSubjectRulesReviewDefinition } from './self-subject-rules-review.ts'
import { serviceAccountDefinition } from './service-account.ts'
import { storageClassDefinition } from './storage-class.ts'
import { tokenReviewDefinition } from './token-review.ts'
import { volumeAttachmentDefinition } from './volume-attachment.ts'
import { controllerRevisionDefinition } from './controller-revision.ts'
import { daemonSetDefinition } from './daemon-set.ts'
import { deploymentDefinition } from './deployment.ts'
import { replicaSetDefinition } from './replica-set.ts'
import { replicationControllerDefinition } from './replication-controller.ts'
import { statefulSetDefinition } from './stateful-set.ts'
import { endpointsDefinition } from './endpoints.ts'
import { serviceDefinition } from './service.ts'
import { defaultAddressRanges, defaultNodePorts, serviceRanges } from './services/service-ranges.ts'
import type { ServiceRanges } from './services/service-ranges.ts'
import { cronJobDefinition, cronJobV1beta1Definition } from './cron-job.ts'
import { endpointSliceDefinition } from './endpoint-slice.ts'
import { endpointSliceV1beta1Definition } from './endpoint-slice-v1beta1.ts'
import { ingressDefinition } from './ingress.ts'
import { jobDefinition } from './job.ts'
import { networkPolicyDefinition } from './network-policy.ts'
import {
  podDisruptionBudgetDefinition,
  podDisruptionBudgetV1beta1Definition,
} from './pod-disruption-budget.ts'
import { validatingWebhookConfigurationDefinition } from './validating-webhook-configuration.ts'

/**
 * Returns all built-in kinds with the names of a domain.
 *
 * @param ranges of Services; unset: the defaults
 */
export function definitionsFor(
  names: Names,
  ranges: ServiceRanges = serviceRanges(defaultAddressRanges, defaultNodePorts),
): readonly ResourceDefinition[] {
  return [
    bindingDefinition(names),
    componentStatusDefinition(names),
    configMapDefinition(names),
    endpointsDefinition(),
    eventDefinition(names),
    limitRangeDefinition(),
    namespaceDefinition(names),
    nodeDefinition(names),
    podDefinition(names),
    podTemplateDefinition(names),
    persistentVolumeDefinition(names),
    persistentVolumeClaimDefinition(names),
    replicationControllerDefinition(names),
    resourceQuotaDefinition(),
    secretDefinition(names),
    serviceAccountDefinition(names),
    serviceDefinition(names, ranges),
    memberDefinition(names),
    apiServiceDefinition(names),
    controllerRevisionDefinition(),
    daemonSetDefinition(names),
    deploymentDefinition(names),
    replicaSetDefinition(names),
    statefulSetDefinition(names),
    certificateSigningRequestDefinition(names),
    localSubjectAccessReviewDefinition(names),
    selfSubjectAccessReviewDefinition(names),
    selfSubjectRulesReviewDefinition(names),
    subjectAccessReviewDefinition(names),
    tokenReviewDefinition(names, 'v1'),
    tokenReviewDefinition(names, 'v1beta1'),
    horizontalPodAutoscalerDefinition(names),
    horizontalPodAutoscalerV1Definition(names),
    horizontalPodAutoscalerV2beta1Definition(names),
    horizontalPodAutoscalerV2beta2Definition(names),
    cronJobDefinition(names),
    cronJobV1beta1Definition(names),
    jobDefinition(names),
    leaseDefinition(names),
    endpointSliceDefinition(names),
    endpointSliceV1beta1Definition(names),
    groupedEventDefinition(names, 'v1'),
    groupedEventDefinition(names, 'v1beta1'),
    flowSchemaDefinition(names),
    flowSchemaV1beta1Definition(names),
    priorityLevelDefinition(names),
    priorityLevelV1beta1Definition(names),
    mutatingWebhookConfigurationDefinition(names),
    validatingWebhookConfigurationDefinition(names),
    customResourceDefinitionDefinition(names),
    ingressClassDefinition(names),
    ingressDefinition(names),
    networkPolicyDefinition(names),
    runtimeClassDefinition(names),
    runtimeClassV1beta1Definition(names),
    podDisruptionBudgetDefinition(),
    podDisruptionBudgetV1beta1Definition(),
    podSecurityPolicyDefinition(names),
    clusterRoleDefinition(names),
    clusterRoleBindingDefinition(names),
    roleDefinition(names),
    roleBindingDefinition(names),
    priorityClassDefinition(names),
    csiDriverDefinition(names),
    csiNodeDefinition(names),
    csiStorageCapacityDefinition(names),
    csiStorageCapacityV1beta1Definition(names),
    storageClassDefinition(names),
    volumeAttachmentDefinition(names),
  ]
}
