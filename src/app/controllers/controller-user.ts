import type { UserInfo } from '../../api/metadata/object.ts'
import type { Names } from '../../api/metadata/names.ts'
import {
  GROUP_MASTERS,
  authenticatedUser,
  serviceAccountGroups,
  serviceAccountName,
} from '../../auth/user.ts'
import type { ControllerName } from '../../config/controllers-flag.ts'

/**
 * The service account of each controller, the subject of the default role
 * `system:controller:ACCOUNT`. null: it acts as the controller manager, as upstream.
 *
 * @source upstream `cmd/kube-controller-manager/app`: names of the clients
 */
const accounts: { readonly [name in ControllerName]: string | null } = {
  bootstrapsigner: 'bootstrap-signer',
  'clusterrole-aggregation': 'clusterrole-aggregation-controller',
  csrapproving: 'certificate-controller',
  csrcleaner: 'certificate-controller',
  csrsigning: 'certificate-controller',
  'ephemeral-volume': 'ephemeral-volume-controller',
  garbagecollector: 'generic-garbage-collector',
  'ipallocator-repair-controller': null,
  namespace: 'namespace-controller',
  podgc: 'pod-garbage-collector',
  'portallocator-repair-controller': null,
  'pv-protection': 'pv-protection-controller',
  'pvc-protection': 'pvc-protection-controller',
  resourcequota: 'resourcequota-controller',
  'root-ca-cert-publisher': 'root-ca-cert-publisher',
  serviceaccount: 'service-account-controller',
  'serviceaccount-token': null,
  tokencleaner: 'token-cleaner',
}

/**
 * Controllers that act as cluster administrators, because admission compares their writes with
 * their permissions: they grant permissions that they do not have, or use signers, even before the
 * default roles are stored and whatever authorizers are configured.
 */
const privileged: readonly ControllerName[] = ['clusterrole-aggregation', 'csrapproving', 'csrsigning']

/** Returns the name of the controller in events. */
export function controllerAccount(controller: ControllerName): string {
  return accounts[controller] ?? controller
}

/** Returns the user as which a controller reads and writes. */
export function controllerUser(names: Names, controller: ControllerName): UserInfo {
  const account = accounts[controller]
  if (account === null) return authenticatedUser({ name: 'system:kube-controller-manager', groups: [] })
  const { systemNamespace } = names
  return authenticatedUser({
    name: serviceAccountName(systemNamespace, account),
    groups: [
      ...serviceAccountGroups(systemNamespace),
      ...(privileged.includes(controller) ? [GROUP_MASTERS] : []),
    ],
  })
}

/** Returns the user of work that belongs to the server itself, such as its default roles. */
export function serverUser(): UserInfo {
  return authenticatedUser({ name: 'system:apiserver', groups: [GROUP_MASTERS] })
}
