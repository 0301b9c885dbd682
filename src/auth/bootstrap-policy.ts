import type { Names } from '../api/metadata/names.ts'
import type { Subject } from './rules.ts'
import type { ClusterRole, ClusterRoleBinding } from './static-rules.ts'
import { GROUP_AUTHENTICATED, GROUP_JOINING, GROUP_MASTERS, GROUP_MONITORING } from './user.ts'
import { GROUP_UNAUTHENTICATED } from './user.ts'

/**
 * Returns the roles and bindings of a new cluster, under upstream's names. Requests without
 * credentials may read health and version, but not discovery.
 *
 * @source apiserver plugin `auth/authorizer/rbac/bootstrappolicy/policy.go`
 */
export function bootstrapPolicy(names: Names): {
  readonly roles: readonly ClusterRole[]
  readonly bindings: readonly ClusterRoleBinding[]
} {
  return {
    roles: [
      {
        name: 'cluster-admin',
        rules: [
          { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
          { verbs: ['*'], nonResourceURLs: ['*'] },
        ],
      },
      {
        name: 'system:discovery',
        rules: [
          {
            verbs: ['get', 'head'],
            nonResourceURLs: [...PUBLIC_PATHS, ...DISCOVERY_PATHS, ...OPENAPI_PATHS],
          },
        ],
      },
      {
        name: 'system:basic-user',
        rules: [
          {
            verbs: ['create'],
            apiGroups: [names.group('authorization')],
            resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
          },
        ],
      },
      {
        name: 'system:public-info-viewer',
        rules: [{ verbs: ['get', 'head'], nonResourceURLs: PUBLIC_PATHS }],
      },
      {
        name: 'system:monitoring',
        rules: [
          {
            verbs: ['get', 'head'],
            nonResourceURLs: ['/metrics', '/cluster/v1/status', ...HEALTH_CHECK_PATHS],
          },
        ],
      },
      {
        name: 'system:joining',
        rules: [{ verbs: ['post'], nonResourceURLs: ['/cluster/v1/join'] }],
      },
    ],
    bindings: [
      { name: 'cluster-admin', role: 'cluster-admin', subjects: [group(GROUP_MASTERS)] },
      { name: 'system:discovery', role: 'system:discovery', subjects: [group(GROUP_AUTHENTICATED)] },
      { name: 'system:basic-user', role: 'system:basic-user', subjects: [group(GROUP_AUTHENTICATED)] },
      { name: 'system:public-info-viewer', role: 'system:public-info-viewer', subjects: EVERYBODY },
      { name: 'system:monitoring', role: 'system:monitoring', subjects: [group(GROUP_MONITORING)] },
      { name: 'system:joining', role: 'system:joining', subjects: [group(GROUP_JOINING)] },
    ],
  }
}

const HEALTH_CHECK_PATHS = ['/healthz/*', '/livez/*', '/readyz/*']
/**
 * Single checks are part of the health that a load balancer without credentials may read (spec
 * 4.5).
 */
const PUBLIC_PATHS = ['/healthz', '/livez', '/readyz', ...HEALTH_CHECK_PATHS, '/version', '/version/']
const DISCOVERY_PATHS = ['/api', '/api/*', '/apis', '/apis/*']
const OPENAPI_PATHS = ['/openapi', '/openapi/*']
const EVERYBODY: readonly Subject[] = [group(GROUP_AUTHENTICATED), group(GROUP_UNAUTHENTICATED)]

function group(name: string): Subject {
  return { kind: 'Group', name }
}
