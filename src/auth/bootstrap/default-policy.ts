import type { Names } from '../../api/metadata/names.ts'
import type { PolicyRule } from '../rules.ts'
import type { ClusterRole, ClusterRoleBinding } from '../static-rules.ts'
import { certificateRoles, componentRoles } from './component-roles.ts'
import { controllerRoles } from './controller-roles.ts'
import { account, clusterBindings, namespacedBindings } from './default-bindings.ts'
import type { NamespacedBinding } from './default-bindings.ts'
import { namespacedRoles } from './namespaced-roles.ts'
import { rulesOfRows } from './rule-row.ts'
import type { RoleTable } from './rule-row.ts'
import { aggregatedRoles } from './user-roles.ts'

export type DefaultClusterRole = ClusterRole & {
  /** Roles that this one is aggregated into, such as `admin`. */
  readonly aggregateTo: readonly string[]
  /** Its rules are those of the roles that are labelled for it. */
  readonly isAggregated: boolean
}

export type DefaultRole = ClusterRole & { readonly namespace: string }

/** The roles and bindings of every cluster. */
export type DefaultPolicy = {
  readonly roles: readonly DefaultClusterRole[]
  readonly bindings: readonly ClusterRoleBinding[]
  readonly namespacedRoles: readonly DefaultRole[]
  readonly namespacedBindings: readonly NamespacedBinding[]
}

/**
 * Returns the roles and bindings of release 1.24, and those for the paths that only this server
 * has. The names of users, groups and most roles are the same in all domains.
 */
export function defaultPolicy(names: Names): DefaultPolicy {
  const controllers = controllerRoles(names)
  const controllerBindings = Object.keys(controllers).map((name) => {
    const role = controllerRoleName(name)
    return { name: role, role, subjects: [account(names, name)] }
  })
  return {
    roles: [
      ...pathRoles,
      ...rolesOf(names, basicRoles),
      ...userRoles(names),
      ...rolesOf(names, componentRoles),
      ...rolesOf(names, certificateRoles(names)),
      ...rolesOf(names, controllers).map((role) => ({ ...role, name: controllerRoleName(role.name) })),
    ],
    bindings: [...clusterBindings(names), ...controllerBindings],
    namespacedRoles: Object.entries(namespacedRoles(names)).flatMap(([namespace, table]) =>
      rolesOf(names, table).map(({ name, rules }) => ({ name, rules, namespace })),
    ),
    namespacedBindings: namespacedBindings(names),
  }
}

const basicRoles: RoleTable = {
  'system:basic-user': [['create', 'authorization', 'selfsubjectaccessreviews selfsubjectrulesreviews']],
}

/**
 * Requests without credentials may read the version and health, individual checks included (spec
 * 4.5), but not discovery.
 */
const HEALTH_PATHS = ['/healthz', '/livez', '/readyz']
const HEALTH_CHECK_PATHS = ['/healthz/*', '/livez/*', '/readyz/*']
const PUBLIC_PATHS = [...HEALTH_PATHS, ...HEALTH_CHECK_PATHS, '/version', '/version/']
const DISCOVERY_PATHS = ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*']

const pathRoles: readonly DefaultClusterRole[] = [
  plainRole('cluster-admin', [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ]),
  readingRole('system:discovery', [...PUBLIC_PATHS, ...DISCOVERY_PATHS]),
  readingRole('system:public-info-viewer', PUBLIC_PATHS),
  readingRole('system:monitoring', [
    '/metrics',
    '/cluster/v1/status',
    ...HEALTH_PATHS,
    ...HEALTH_CHECK_PATHS,
  ]),
  readingRole('system:service-account-issuer-discovery', [
    '/.well-known/openid-configuration',
    '/openid/v1/jwks',
  ]),
  plainRole('system:joining', [{ verbs: ['post'], nonResourceURLs: ['/cluster/v1/join'] }]),
]

/**
 * Returns `admin`, `edit` (aggregated into `admin`) and `view` (aggregated into `edit`), and for
 * each the role that has its rules.
 */
function userRoles(names: Names): readonly DefaultClusterRole[] {
  const parts = rolesOf(names, aggregatedRoles)
  return [
    { name: 'admin', rules: [], isAggregated: true, aggregateTo: [] },
    { name: 'edit', rules: [], isAggregated: true, aggregateTo: ['admin'] },
    { name: 'view', rules: [], isAggregated: true, aggregateTo: ['edit'] },
    ...parts.map((part) => ({
      ...{ ...part, name: `system:aggregate-to-${part.name}` },
      aggregateTo: [part.name],
    })),
  ]
}

function rolesOf(names: Names, table: RoleTable): readonly DefaultClusterRole[] {
  return Object.entries(table).map(([name, rows]) => plainRole(name, rulesOfRows(names, rows)))
}

/** A HEAD request is a verb of its own on paths that are not resources. */
function readingRole(name: string, paths: readonly string[]): DefaultClusterRole {
  return plainRole(name, [{ verbs: ['get', 'head'], nonResourceURLs: [...paths].sort() }])
}

function plainRole(name: string, rules: readonly PolicyRule[]): DefaultClusterRole {
  return { name, rules, aggregateTo: [], isAggregated: false }
}

function controllerRoleName(account: string): string {
  return `system:controller:${account}`
}
