import type { Names } from '../../api/metadata/names.ts'
import { READ, WRITE_EVENTS } from './rule-row.ts'
import type { RoleTable, RuleRow } from './rule-row.ts'

const BOTH = 'apps extensions'
const RUN_PODS: RuleRow = ['create delete list patch watch', 'core', 'pods']

/**
 * Returns the permissions of controllers by the name of the service account, which is the last part
 * of the name of the role. Those of features that release 1.24 has off by default are left out.
 *
 * @source upstream `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go`,
 * release 1.24
 */
export function controllerRoles({ signers }: Names): RoleTable {
  return {
    ...workloadControllers,
    ...clusterControllers,
    'certificate-controller': [
      [`${READ} delete`, 'certificates', 'certificatesigningrequests'],
      ['update', 'certificates', 'certificatesigningrequests/status certificatesigningrequests/approval'],
      ['approve', 'certificates', 'signers', signers.apiserverClientNodeAgent],
      ['sign', 'certificates', 'signers', ...Object.values(signers)],
      ['create', 'authorization', 'subjectaccessreviews'],
      WRITE_EVENTS,
    ],
  }
}

const workloadControllers: RoleTable = {
  'cronjob-controller': [
    [`${READ} update`, 'batch', 'cronjobs'],
    [`${READ} create delete patch update`, 'batch', 'jobs'],
    ['update', 'batch', 'cronjobs/status'],
    ['update', 'batch', 'cronjobs/finalizers'],
    ['delete list', 'core', 'pods'],
    WRITE_EVENTS,
  ],
  'daemon-set-controller': [
    [READ, BOTH, 'daemonsets'],
    ['update', BOTH, 'daemonsets/status'],
    ['update', BOTH, 'daemonsets/finalizers'],
    ['list watch', 'core', 'nodes'],
    RUN_PODS,
    ['create', 'core', 'pods/binding'],
    [`${READ} create delete patch update`, 'apps', 'controllerrevisions'],
    WRITE_EVENTS,
  ],
  'deployment-controller': [
    [`${READ} update`, BOTH, 'deployments'],
    ['update', BOTH, 'deployments/status'],
    ['update', BOTH, 'deployments/finalizers'],
    [`${READ} create delete patch update`, BOTH, 'replicasets'],
    [`${READ} update`, 'core', 'pods'],
    WRITE_EVENTS,
  ],
  'disruption-controller': [
    [READ, BOTH, 'deployments'],
    [READ, BOTH, 'replicasets'],
    [READ, 'core', 'replicationcontrollers'],
    [READ, 'policy', 'poddisruptionbudgets'],
    [READ, 'apps', 'statefulsets'],
    ['update', 'policy', 'poddisruptionbudgets/status'],
    ['get', '*', '*/scale'],
    WRITE_EVENTS,
  ],
  'horizontal-pod-autoscaler': [
    [READ, 'autoscaling', 'horizontalpodautoscalers'],
    ['update', 'autoscaling', 'horizontalpodautoscalers/status'],
    ['get update', '*', '*/scale'],
    ['list', 'core', 'pods'],
    ['get', 'core', 'services/proxy', 'https:heapster:', 'http:heapster:'],
    ['list', 'metrics', 'pods'],
    ['get list', 'custom.metrics', '*'],
    ['get list', 'external.metrics', '*'],
    WRITE_EVENTS,
  ],
  'job-controller': [
    [`${READ} patch update`, 'batch', 'jobs'],
    ['update', 'batch', 'jobs/status'],
    ['update', 'batch', 'jobs/finalizers'],
    RUN_PODS,
    WRITE_EVENTS,
  ],
  'replicaset-controller': [
    [`${READ} update`, BOTH, 'replicasets'],
    ['update', BOTH, 'replicasets/status'],
    ['update', BOTH, 'replicasets/finalizers'],
    RUN_PODS,
    WRITE_EVENTS,
  ],
  'replication-controller': [
    [`${READ} update`, 'core', 'replicationcontrollers'],
    ['update', 'core', 'replicationcontrollers/status'],
    ['update', 'core', 'replicationcontrollers/finalizers'],
    RUN_PODS,
    WRITE_EVENTS,
  ],
  'statefulset-controller': [
    ['list watch', 'core', 'pods'],
    [READ, 'apps', 'statefulsets'],
    ['update', 'apps', 'statefulsets/status'],
    ['update', 'apps', 'statefulsets/finalizers'],
    ['create delete get patch update', 'core', 'pods'],
    [`${READ} create delete patch update`, 'apps', 'controllerrevisions'],
    ['create get', 'core', 'persistentvolumeclaims'],
    WRITE_EVENTS,
  ],
  'ttl-after-finished-controller': [[`${READ} delete`, 'batch', 'jobs'], WRITE_EVENTS],
}

const clusterControllers: RoleTable = {
  'attachdetach-controller': [
    ['list watch', 'core', 'persistentvolumes persistentvolumeclaims'],
    [READ, 'core', 'nodes'],
    ['patch update', 'core', 'nodes/status'],
    ['list watch', 'core', 'pods'],
    WRITE_EVENTS,
    [`${READ} create delete`, 'storage', 'volumeattachments'],
    [READ, 'storage', 'csidrivers'],
    [READ, 'storage', 'csinodes'],
  ],
  'clusterrole-aggregation-controller': [
    [`${READ} escalate patch update`, 'rbac.authorization', 'clusterroles'],
  ],
  'endpoint-controller': [
    [READ, 'core', 'services pods'],
    ['create delete get list update', 'core', 'endpoints'],
    ['create', 'core', 'endpoints/restricted'],
    WRITE_EVENTS,
  ],
  'endpointslice-controller': [
    [READ, 'core', 'services pods nodes'],
    ['update', 'core', 'services/finalizers'],
    ['create delete get list update', 'discovery', 'endpointslices'],
    WRITE_EVENTS,
  ],
  'endpointslicemirroring-controller': [
    [READ, 'core', 'services endpoints'],
    ['update', 'core', 'services/finalizers'],
    ['update', 'core', 'endpoints/finalizers'],
    ['create delete get list update', 'discovery', 'endpointslices'],
    WRITE_EVENTS,
  ],
  'ephemeral-volume-controller': [
    [READ, 'core', 'pods'],
    ['update', 'core', 'pods/finalizers'],
    [`${READ} create`, 'core', 'persistentvolumeclaims'],
    WRITE_EVENTS,
  ],
  'expand-controller': [
    [`${READ} patch update`, 'core', 'persistentvolumes'],
    ['patch update', 'core', 'persistentvolumeclaims/status'],
    [READ, 'core', 'persistentvolumeclaims'],
    [READ, 'storage', 'storageclasses'],
    ['get', 'core', 'services endpoints'],
    ['get', 'core', 'secrets'],
    WRITE_EVENTS,
  ],
  'generic-garbage-collector': [[`${READ} delete patch update`, '*', '*'], WRITE_EVENTS],
  'namespace-controller': [
    [`${READ} delete`, 'core', 'namespaces'],
    ['update', 'core', 'namespaces/finalize namespaces/status'],
    ['delete deletecollection get list', '*', '*'],
  ],
  'node-controller': [
    ['delete get list patch update', 'core', 'nodes'],
    ['patch update', 'core', 'nodes/status'],
    ['update', 'core', 'pods/status'],
    ['delete list', 'core', 'pods'],
    WRITE_EVENTS,
  ],
  'persistent-volume-binder': [
    [`${READ} create delete update`, 'core', 'persistentvolumes'],
    ['update', 'core', 'persistentvolumes/status'],
    [`${READ} update`, 'core', 'persistentvolumeclaims'],
    ['update', 'core', 'persistentvolumeclaims/status'],
    [`${READ} create delete`, 'core', 'pods'],
    [READ, 'storage', 'storageclasses'],
    ['create delete get update', 'core', 'endpoints'],
    ['create delete get', 'core', 'services'],
    ['get', 'core', 'secrets'],
    ['get list', 'core', 'nodes'],
    ['watch', 'core', 'events'],
    WRITE_EVENTS,
  ],
  'pod-garbage-collector': [
    ['delete list watch', 'core', 'pods'],
    ['get list', 'core', 'nodes'],
  ],
  'pv-protection-controller': [[`${READ} update`, 'core', 'persistentvolumes'], WRITE_EVENTS],
  'pvc-protection-controller': [
    [`${READ} update`, 'core', 'persistentvolumeclaims'],
    [READ, 'core', 'pods'],
    WRITE_EVENTS,
  ],
  'resourcequota-controller': [
    ['list watch', '*', '*'],
    ['update', 'core', 'resourcequotas/status'],
    WRITE_EVENTS,
  ],
  'root-ca-cert-publisher': [['create update', 'core', 'configmaps'], WRITE_EVENTS],
  'route-controller': [['list watch', 'core', 'nodes'], ['patch', 'core', 'nodes/status'], WRITE_EVENTS],
  'service-account-controller': [['create', 'core', 'serviceaccounts'], WRITE_EVENTS],
  'service-controller': [
    [READ, 'core', 'services'],
    ['patch update', 'core', 'services/status'],
    ['list watch', 'core', 'nodes'],
    WRITE_EVENTS,
  ],
  'ttl-controller': [['list patch update watch', 'core', 'nodes'], WRITE_EVENTS],
}
