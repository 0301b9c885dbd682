import type { StoredObject } from './watch-recorder.ts'

export type WorkloadState = {
  readonly deployments: readonly StoredObject[]
  readonly replicaSets: readonly StoredObject[]
  readonly pods: readonly StoredObject[]
}

export type WorkloadGoal = {
  readonly deployments: number
  readonly replicas: number
  readonly nodes: ReadonlySet<string>
}

/** Returns what differs from Deployments of one size, all of whose Pods are bound and run. */
export function differences(state: WorkloadState, goal: WorkloadGoal): readonly string[] {
  const { deployments, replicaSets, pods } = state
  const setsOf = byOwner('Deployment', replicaSets)
  const podsOf = byOwner('ReplicaSet', pods)
  const count = deployments.length === goal.deployments ? [] : [`there are ${deployments.length} Deployments`]
  return [
    ...count,
    ...orphans('ReplicaSet', setsOf, deployments),
    ...orphans('Pod', podsOf, replicaSets),
    ...deployments.flatMap((deployment) => {
      const { name, uid } = deployment.metadata
      const [own, ...more] = setsOf.get(uid) ?? []
      if (own === undefined || more.length > 0)
        return [`Deployment ${name} has ${own === undefined ? 0 : more.length + 1} ReplicaSets`]
      return [...sizeDifferences('Deployment', deployment, goal), ...sizeDifferences('ReplicaSet', own, goal)]
    }),
    ...replicaSets.flatMap(({ metadata: { name, uid } }) => {
      const own = podsOf.get(uid)?.length ?? 0
      return own === goal.replicas ? [] : [`ReplicaSet ${name} has ${own} Pods`]
    }),
    ...pods.flatMap((pod) => podDifferences(pod, goal)),
  ]
}

/** Returns the objects by the UID of their owner; those without one are under the empty text. */
function byOwner(
  kind: string,
  objects: readonly StoredObject[],
): ReadonlyMap<string, readonly StoredObject[]> {
  const found = new Map<string, StoredObject[]>()
  for (const object of objects) {
    const uid = object.metadata.ownerReferences?.find((owner) => owner.kind === kind)?.uid ?? ''
    const own = found.get(uid) ?? []
    found.set(uid, own)
    own.push(object)
  }
  return found
}

function orphans(
  kind: string,
  owned: ReadonlyMap<string, readonly StoredObject[]>,
  owners: readonly StoredObject[],
): readonly string[] {
  const uids = new Set(owners.map(({ metadata }) => metadata.uid))
  return [...owned].flatMap(([uid, objects]) =>
    uids.has(uid) ? [] : objects.map(({ metadata }) => `${kind} ${metadata.name} has no owner`),
  )
}

function sizeDifferences(
  kind: 'Deployment' | 'ReplicaSet',
  { metadata, spec, status }: StoredObject,
  { replicas }: WorkloadGoal,
): readonly string[] {
  const counts = {
    'spec.replicas': spec?.replicas,
    'status.replicas': status?.replicas,
    'status.readyReplicas': status?.readyReplicas,
    'status.availableReplicas': status?.availableReplicas,
    ...(kind === 'Deployment' ? { 'status.updatedReplicas': status?.updatedReplicas } : {}),
  }
  const wrong = Object.entries(counts).filter(([, count]) => count !== replicas)
  const isObserved = status?.observedGeneration === metadata.generation
  return [
    ...wrong.map(([field, value]) => `${kind} ${metadata.name} has ${field} ${value}`),
    ...(isObserved ? [] : [`${kind} ${metadata.name} has a status of an older generation`]),
  ]
}

function podDifferences(
  { metadata, spec, status }: StoredObject,
  { nodes }: WorkloadGoal,
): readonly string[] {
  const { name } = metadata
  const node = spec?.nodeName
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  return [
    ...(metadata.deletionTimestamp === undefined ? [] : [`Pod ${name} is being deleted`]),
    ...(node === undefined ? [`Pod ${name} is not bound`] : []),
    ...(node === undefined || nodes.has(node)
      ? []
      : [`Pod ${name} is bound to ${node}, which does not exist`]),
    ...(status?.phase === 'Running' && isReady === true ? [] : [`Pod ${name} does not run`]),
  ]
}
