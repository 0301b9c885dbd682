import type { Names } from '../../api/metadata/names.ts'
import { READ, WRITE_EVENTS } from './rule-row.ts'
import type { RoleTable, RuleRow } from './rule-row.ts'

const REVIEW_TOKENS: RuleRow = ['create', 'authentication', 'tokenreviews']
const REVIEW_ACCESS: RuleRow = ['create', 'authorization', 'subjectaccessreviews']

/**
 * The permissions of the components of a cluster, which are users of their own.
 *
 * @source upstream `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go`, release 1.24
 */
export const componentRoles: RoleTable = {
  'system:auth-delegator': [REVIEW_TOKENS, REVIEW_ACCESS],
  'system:heapster': [
    [READ, 'core', 'events pods nodes namespaces'],
    [READ, 'extensions', 'deployments'],
  ],
  'system:kube-aggregator': [[READ, 'core', 'services endpoints']],
  'system:kube-controller-manager': [
    WRITE_EVENTS,
    ['create', 'coordination', 'leases'],
    ['get update', 'coordination', 'leases', 'kube-controller-manager'],
    ['create', 'core', 'endpoints'],
    ['get update', 'core', 'endpoints', 'kube-controller-manager'],
    ['create', 'core', 'secrets serviceaccounts'],
    ['delete', 'core', 'secrets'],
    ['get', 'core', 'namespaces secrets serviceaccounts configmaps'],
    ['update', 'core', 'secrets serviceaccounts'],
    REVIEW_TOKENS,
    REVIEW_ACCESS,
    ['list watch', '*', '*'],
    ['create', 'core', 'serviceaccounts/token'],
  ],
  'system:kube-dns': [['list watch', 'core', 'endpoints services']],
  'system:kube-scheduler': [
    WRITE_EVENTS,
    ['create', 'coordination', 'leases'],
    ['get update', 'coordination', 'leases', 'kube-scheduler'],
    ['create', 'core', 'endpoints'],
    ['get update', 'core', 'endpoints', 'kube-scheduler'],
    [READ, 'core', 'nodes'],
    [`${READ} delete`, 'core', 'pods'],
    ['create', 'core', 'pods/binding bindings'],
    ['patch update', 'core', 'pods/status'],
    [READ, 'core', 'services replicationcontrollers'],
    [READ, 'apps extensions', 'replicasets'],
    [READ, 'apps', 'statefulsets'],
    [READ, 'policy', 'poddisruptionbudgets'],
    [READ, 'core', 'persistentvolumeclaims persistentvolumes'],
    REVIEW_TOKENS,
    REVIEW_ACCESS,
    [READ, 'storage', 'csinodes'],
    [READ, 'core', 'namespaces'],
    [READ, 'storage', 'csidrivers'],
    [READ, 'storage', 'csistoragecapacities'],
  ],
  'system:kubelet-api-admin': [
    [READ, 'core', 'nodes'],
    ['proxy', 'core', 'nodes'],
    ['*', 'core', 'nodes/proxy nodes/metrics nodes/spec nodes/stats nodes/log'],
  ],
  'system:node': [
    REVIEW_TOKENS,
    ['create', 'authorization', 'subjectaccessreviews localsubjectaccessreviews'],
    [READ, 'core', 'services'],
    [`${READ} create`, 'core', 'nodes'],
    ['patch update', 'core', 'nodes/status'],
    ['patch update', 'core', 'nodes'],
    ['create patch update', 'core', 'events'],
    [READ, 'core', 'pods'],
    ['create delete', 'core', 'pods'],
    ['patch update', 'core', 'pods/status'],
    ['create', 'core', 'pods/eviction'],
    [READ, 'core', 'secrets configmaps'],
    ['get', 'core', 'persistentvolumeclaims persistentvolumes'],
    ['get', 'core', 'endpoints'],
    [`${READ} create`, 'certificates', 'certificatesigningrequests'],
    ['create delete get patch update', 'coordination', 'leases'],
    ['get', 'storage', 'volumeattachments'],
    ['create', 'core', 'serviceaccounts/token'],
    ['get patch update', 'core', 'persistentvolumeclaims/status'],
    [READ, 'storage', 'csidrivers'],
    ['create delete get patch update', 'storage', 'csinodes'],
    [READ, 'node', 'runtimeclasses'],
  ],
  'system:node-bootstrapper': [[`${READ} create`, 'certificates', 'certificatesigningrequests']],
  'system:node-problem-detector': [['get', 'core', 'nodes'], ['patch', 'core', 'nodes/status'], WRITE_EVENTS],
  'system:node-proxier': [
    ['list watch', 'core', 'services endpoints'],
    [READ, 'core', 'nodes'],
    WRITE_EVENTS,
    ['list watch', 'discovery', 'endpointslices'],
  ],
  'system:persistent-volume-provisioner': [
    [`${READ} create delete`, 'core', 'persistentvolumes'],
    [`${READ} update`, 'core', 'persistentvolumeclaims'],
    [READ, 'storage', 'storageclasses'],
    ['watch', 'core', 'events'],
    WRITE_EVENTS,
  ],
  'system:volume-scheduler': [
    [`${READ} patch update`, 'core', 'persistentvolumes'],
    [READ, 'storage', 'storageclasses'],
    [`${READ} patch update`, 'core', 'persistentvolumeclaims'],
  ],
}

/**
 * Returns the permissions to request and approve certificates. The names of these roles contain
 * those of the group and of the signers.
 */
export function certificateRoles({ group, signers }: Names): RoleTable {
  const prefix = `system:${group('certificates')}`
  const requests = `${prefix}:certificatesigningrequests`
  const approvers = Object.values(signers).map((signer) => [
    `${prefix}:${signer.slice(signer.indexOf('/') + 1)}-approver`,
    [['approve', 'certificates', 'signers', signer]],
  ])
  return {
    [`${requests}:nodeclient`]: [['create', 'certificates', 'certificatesigningrequests/nodeclient']],
    [`${requests}:selfnodeclient`]: [['create', 'certificates', 'certificatesigningrequests/selfnodeclient']],
    ...(Object.fromEntries(approvers) as RoleTable),
  }
}
