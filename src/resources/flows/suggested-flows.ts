import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { everything, flowSpec, groups, users } from './flow-spec.ts'
import type { FlowSpecs } from './flow-spec.ts'

/**
 * The flow schemas and priority levels that every cluster gets, and that administrators can change.
 *
 * @source apiserver `pkg/apis/flowcontrol/bootstrap/default.go`
 */

const CONTROLLER_MANAGER = 'system:kube-controller-manager'
const SCHEDULER = 'system:kube-scheduler'

/** Returns a priority level with queues. */
function level(shares: number, queues: number, handSize: number): JsonObject {
  const queuing = { queues, handSize, queueLengthLimit: 50 }
  const limitResponse = { type: 'Queue', queuing }
  return { type: 'Limited', limited: { assuredConcurrencyShares: shares, limitResponse } }
}

export const suggestedPriorityLevels: FlowSpecs = {
  system: level(30, 64, 6),
  'node-high': level(40, 64, 6),
  'leader-election': level(10, 16, 4),
  'workload-high': level(40, 128, 6),
  'workload-low': level(100, 128, 6),
  'global-default': level(20, 128, 6),
}

/** Returns a rule for resources of one group. */
function resources(
  verbs: readonly string[],
  group: string,
  names: readonly string[],
  where: JsonObject,
): JsonObject {
  return { verbs, apiGroups: [group], resources: names, ...where }
}

const everywhere = { namespaces: ['*'] } as const

export function suggestedFlowSchemas(names: Names): FlowSpecs {
  const leases = names.group('coordination')
  const systemAccounts: readonly JsonObject[] = [
    { kind: 'ServiceAccount', serviceAccount: { namespace: names.systemNamespace, name: '*' } },
  ]
  const all = groups('system:unauthenticated', 'system:authenticated')
  const workload = { level: 'workload-high', requests: everything } as const
  return {
    'system-nodes': flowSpec({
      ...{ level: 'system', precedence: 500, by: 'ByUser', requests: everything },
      subjects: groups('system:nodes'),
    }),
    'system-node-high': flowSpec({
      ...{ level: 'node-high', precedence: 400, by: 'ByUser', subjects: groups('system:nodes') },
      requests: {
        resourceRules: [
          resources(['*'], '', ['nodes', 'nodes/status'], { clusterScope: true, ...everywhere }),
          resources(['*'], leases, ['leases'], everywhere),
        ],
      },
    }),
    probes: flowSpec({
      ...{ level: 'exempt', precedence: 2, subjects: all },
      requests: {
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
      },
    }),
    'system-leader-election': flowSpec({
      ...{ level: 'leader-election', precedence: 100, by: 'ByUser' },
      subjects: [...users(CONTROLLER_MANAGER, SCHEDULER), ...systemAccounts],
      requests: elections(leases, { namespaces: [names.systemNamespace] }),
    }),
    'workload-leader-election': flowSpec({
      ...{ level: 'leader-election', precedence: 200, by: 'ByUser', subjects: systemAccounts },
      requests: elections(leases, everywhere),
    }),
    'kube-controller-manager': flowSpec({
      ...{ ...workload, precedence: 800, by: 'ByNamespace', subjects: users(CONTROLLER_MANAGER) },
    }),
    'kube-scheduler': flowSpec({
      ...{ ...workload, precedence: 800, by: 'ByNamespace', subjects: users(SCHEDULER) },
    }),
    'kube-system-service-accounts': flowSpec({
      ...{ ...workload, precedence: 900, by: 'ByNamespace', subjects: systemAccounts },
    }),
    'service-accounts': flowSpec({
      ...{ level: 'workload-low', precedence: 9000, by: 'ByUser', requests: everything },
      subjects: groups('system:serviceaccounts'),
    }),
    'global-default': flowSpec({
      ...{ level: 'global-default', precedence: 9900, by: 'ByUser', subjects: all },
      requests: everything,
    }),
  }
}

/**
 * Returns the requests of leader elections: leases everywhere, older locks where `locks` allows.
 */
function elections(leases: string, locks: JsonObject): JsonObject {
  const verbs = ['get', 'create', 'update']
  return {
    resourceRules: [
      resources(verbs, '', ['endpoints', 'configmaps'], locks),
      resources(verbs, leases, ['leases'], everywhere),
    ],
  }
}
