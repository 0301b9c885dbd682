import { checkQualifiedName } from '../../api/metadata/name-rules.ts'

/** The requests and limits of Pods that a quota with another scope than BestEffort can limit. */
const COMPUTE: readonly string[] = [
  ...['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'],
]

const COUNTS: ReadonlySet<string> = new Set([
  ...['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'],
])

const STANDARD: ReadonlySet<string> = new Set([
  ...COMPUTE,
  ...COUNTS,
  ...['ephemeral-storage', 'requests.ephemeral-storage', 'limits.ephemeral-storage', 'requests.storage'],
  'storage',
])

/**
 * Returns violations of the rule for the names of resources in quotas, and in LimitRange items of
 * other types than Pod and Container.
 */
export function checkQuotaResourceName(name: string): readonly string[] {
  const wrong = checkQualifiedName(name)
  if (wrong.length > 0) return wrong
  return name.includes('/') || isStandardQuotaResource(name) ? [] : ['must be a standard resource for quota']
}

export function isStandardQuotaResource(name: string): boolean {
  return STANDARD.has(name) || name.startsWith('hugepages-') || name.startsWith('requests.hugepages-')
}

/** Whether amounts of the resource are whole numbers. */
export function isCountedResource(name: string): boolean {
  return COUNTS.has(name) || name.startsWith('count/')
}

/** Whether a quota with that scope can limit the standard resource. */
export function isScopeFor(scope: string, resource: string): boolean {
  return resource === 'pods' || (scope !== 'BestEffort' && COMPUTE.includes(resource))
}
