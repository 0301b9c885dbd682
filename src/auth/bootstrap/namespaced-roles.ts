import type { Names } from '../../api/metadata/names.ts'
import { READ, WRITE_EVENTS } from './rule-row.ts'
import type { RoleTable, RuleRow } from './rule-row.ts'

/**
 * Returns the default Roles by namespace.
 *
 * @source upstream `bootstrappolicy/namespace_policy.go`, release 1.24
 */
export function namespacedRoles(names: Names): Readonly<Record<string, RoleTable>> {
  return {
    [names.systemNamespace]: {
      'extension-apiserver-authentication-reader': [
        [READ, 'core', 'configmaps', 'extension-apiserver-authentication'],
      ],
      'system:controller:bootstrap-signer': [[READ, 'core', 'secrets']],
      'system:controller:cloud-provider': [[`${READ} create`, 'core', 'configmaps']],
      'system:controller:token-cleaner': [[`${READ} delete`, 'core', 'secrets'], WRITE_EVENTS],
      'system::leader-locking-kube-controller-manager': lockOf('kube-controller-manager'),
      'system::leader-locking-kube-scheduler': lockOf('kube-scheduler'),
    },
    [names.publicNamespace]: {
      'system:controller:bootstrap-signer': [
        [READ, 'core', 'configmaps'],
        ['update', 'core', 'configmaps', 'cluster-info'],
        WRITE_EVENTS,
      ],
    },
  }
}

function lockOf(component: string): readonly RuleRow[] {
  return [
    ['watch', 'core', 'configmaps'],
    ['get update', 'core', 'configmaps', component],
  ]
}
