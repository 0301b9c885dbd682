import type { Names } from '../../api/metadata/names.ts'
import type { Subject } from '../rules.ts'
import type { ClusterRoleBinding } from '../static-rules.ts'
import {
  GROUP_AUTHENTICATED,
  GROUP_JOINING,
  GROUP_MASTERS,
  GROUP_MONITORING,
  GROUP_SERVICE_ACCOUNTS,
  GROUP_UNAUTHENTICATED,
} from '../user.ts'

const CONTROLLER_MANAGER: Subject = { kind: 'User', name: 'system:kube-controller-manager' }
const SCHEDULER: Subject = { kind: 'User', name: 'system:kube-scheduler' }

/**
 * Returns the default ClusterRoleBindings except those of controllers. A binding has the name of
 * its role.
 *
 * @source upstream `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go`, release 1.24
 */
export function clusterBindings(names: Names): readonly ClusterRoleBinding[] {
  const subjects: Readonly<Record<string, readonly Subject[]>> = {
    'cluster-admin': [group(GROUP_MASTERS)],
    'system:monitoring': [group(GROUP_MONITORING)],
    'system:discovery': [group(GROUP_AUTHENTICATED)],
    'system:basic-user': [group(GROUP_AUTHENTICATED)],
    'system:public-info-viewer': [group(GROUP_AUTHENTICATED), group(GROUP_UNAUTHENTICATED)],
    'system:joining': [group(GROUP_JOINING)],
    'system:node-proxier': [{ kind: 'User', name: 'system:kube-proxy' }],
    'system:kube-controller-manager': [CONTROLLER_MANAGER],
    'system:kube-dns': [account(names, 'kube-dns')],
    'system:kube-scheduler': [SCHEDULER],
    'system:volume-scheduler': [SCHEDULER],
    // As upstream: without subjects, because the role lets any node read every Secret.
    'system:node': [],
    'system:service-account-issuer-discovery': [group(GROUP_SERVICE_ACCOUNTS)],
  }
  return Object.entries(subjects).map(([name, of]) => ({ name, role: name, subjects: of }))
}

export type NamespacedBinding = ClusterRoleBinding & {
  /** The Role is in the same namespace. */
  readonly namespace: string
}

/**
 * Returns the default RoleBindings.
 *
 * @source upstream `bootstrappolicy/namespace_policy.go`, release 1.24
 */
export function namespacedBindings(names: Names): readonly NamespacedBinding[] {
  const { systemNamespace, publicNamespace } = names
  const reader = 'extension-apiserver-authentication-reader'
  const binding = (role: string, subjects: readonly Subject[], namespace = systemNamespace) => ({
    ...{ name: role, role, subjects, namespace },
  })
  const controller = (name: string, namespace?: string): NamespacedBinding =>
    binding(`system:controller:${name}`, [account(names, name)], namespace)
  return [
    { ...binding(reader, [CONTROLLER_MANAGER, SCHEDULER]), name: `system::${reader}` },
    binding('system::leader-locking-kube-controller-manager', [
      CONTROLLER_MANAGER,
      account(names, 'kube-controller-manager'),
    ]),
    binding('system::leader-locking-kube-scheduler', [SCHEDULER, account(names, 'kube-scheduler')]),
    controller('bootstrap-signer'),
    controller('cloud-provider'),
    controller('token-cleaner'),
    controller('bootstrap-signer', publicNamespace),
  ]
}

/** Returns a service account of the system namespace. */
export function account(names: Names, name: string): Subject {
  return { kind: 'ServiceAccount', namespace: names.systemNamespace, name }
}

function group(name: string): Subject {
  return { kind: 'Group', name }
}
