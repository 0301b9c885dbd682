/**
 * The priority classes that every cluster has, with their values. They are above all values that
 * users may define.
 *
 * @source upstream `pkg/apis/scheduling/v1/helpers.go`
 */
export const SYSTEM_PRIORITIES: readonly {
  readonly name: string
  readonly value: number
  readonly description: string
}[] = Object.freeze([
  {
    name: 'system-node-critical',
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    name: 'system-cluster-critical',
    value: 2_000_000_000,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
])

/** @returns null: not a class of the system */
export function systemPriorityOf(name: string): number | null {
  return SYSTEM_PRIORITIES.find((one) => one.name === name)?.value ?? null
}
