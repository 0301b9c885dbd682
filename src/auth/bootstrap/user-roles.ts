import { CHANGE, READ } from './rule-row.ts'
import type { RoleTable } from './rule-row.ts'

/**
 * The permissions of people: `admin`, `edit` and `view` are filled from these roles, each from the
 * one of its name, and from roles that users label for them.
 *
 * @source upstream `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go`, release 1.24
 */
export const aggregatedRoles: RoleTable = {
  admin: [
    ['create', 'authorization', 'localsubjectaccessreviews'],
    [`${READ} ${CHANGE}`, 'rbac.authorization', 'roles rolebindings'],
  ],
  edit: [
    [READ, 'core', 'pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy'],
    ['impersonate', 'core', 'serviceaccounts'],
    [CHANGE, 'core', 'pods pods/attach pods/proxy pods/exec pods/portforward'],
    ['create', 'core', 'pods/eviction'],
    [
      CHANGE,
      'core',
      'replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy persistentvolumeclaims configmaps secrets events',
    ],
    ['create', 'core', 'serviceaccounts/token'],
    [
      CHANGE,
      'apps',
      'statefulsets statefulsets/scale daemonsets deployments deployments/scale deployments/rollback replicasets replicasets/scale',
    ],
    [CHANGE, 'autoscaling', 'horizontalpodautoscalers'],
    [CHANGE, 'batch', 'jobs cronjobs'],
    [
      CHANGE,
      'extensions',
      'daemonsets deployments deployments/scale deployments/rollback ingresses replicasets replicasets/scale replicationcontrollers/scale networkpolicies',
    ],
    [CHANGE, 'policy', 'poddisruptionbudgets'],
    [CHANGE, 'networking', 'networkpolicies ingresses'],
  ],
  view: [
    [
      READ,
      'core',
      'pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status endpoints persistentvolumeclaims persistentvolumeclaims/status configmaps',
    ],
    [
      READ,
      'core',
      'limitranges resourcequotas bindings events pods/status resourcequotas/status namespaces/status replicationcontrollers/status pods/log',
    ],
    [READ, 'core', 'namespaces'],
    [READ, 'discovery', 'endpointslices'],
    [
      READ,
      'apps',
      'controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets daemonsets/status deployments deployments/status deployments/scale replicasets replicasets/status replicasets/scale',
    ],
    [READ, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'],
    [READ, 'batch', 'jobs jobs/status cronjobs cronjobs/status'],
    [
      READ,
      'extensions',
      'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status replicasets replicasets/scale replicasets/status replicationcontrollers/scale networkpolicies',
    ],
    [READ, 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'],
    [READ, 'networking', 'networkpolicies ingresses ingresses/status'],
  ],
}
