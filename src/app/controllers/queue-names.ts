import type { ControllerName } from '../../config/controllers-flag.ts'

/** The names of work queues in metrics: those of upstream, where its controller has a queue. */
export const queueNames: { readonly [name in ControllerName]: string } = {
  bootstrapsigner: 'bootstrap_signer_queue',
  'clusterrole-aggregation': 'ClusterRoleAggregator',
  csrapproving: 'certificate_approving',
  csrcleaner: 'certificate_cleaning',
  csrsigning: 'certificate_signing',
  'ephemeral-volume': 'ephemeral_volume',
  garbagecollector: 'garbage_collector_attempt_to_delete',
  'ipallocator-repair-controller': 'ipallocator_repair',
  namespace: 'namespace',
  podgc: 'orphaned_pods_nodes',
  'portallocator-repair-controller': 'portallocator_repair',
  'pv-protection': 'pvprotection',
  'pvc-protection': 'pvcprotection',
  resourcequota: 'resourcequota_primary',
  'root-ca-cert-publisher': 'root_ca_cert_publisher',
  serviceaccount: 'serviceaccount',
  'serviceaccount-token': 'serviceaccount_tokens_secret',
  tokencleaner: 'token_cleaner',
}
/** The queue of accounts that need a Secret. */
export const accountQueue = 'serviceaccount_tokens_service'
