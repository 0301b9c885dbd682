import type { Journal } from './journal.ts'
import type { PodLife } from './pod-history.ts'

/** Returns which answers of creations, bindings and deletions the lives of the Pods contradict. */
export function podViolations(
  lives: readonly PodLife[],
  journal: Journal,
  nodes: ReadonlySet<string>,
): readonly string[] {
  return [
    ...creationViolations(lives, journal),
    ...lives.flatMap((life) => bindingViolations(life, journal, nodes)),
    ...deletionViolations(lives, journal),
  ]
}

function creationViolations(lives: readonly PodLife[], { creations }: Journal): readonly string[] {
  const found: string[] = []
  const byCreation = new Map<string, PodLife>()
  for (const life of lives) {
    const { name, uid, creation: id } = life
    const creation = creations.get(id)
    const twin = byCreation.get(id)
    if (twin !== undefined) found.push(`one request created ${twin.name} and ${name}: ${id}`)
    byCreation.set(id, life)
    if (creation === undefined) found.push(`no request created Pod ${name}`)
    else if (creation.outcome === 'refused') found.push(`Pod ${name} was created by a refused request: ${id}`)
    else if (creation.pod !== null && creation.pod.uid !== uid)
      found.push(`${id} was answered with UID ${creation.pod.uid}, but created ${uid}`)
    else if (creation.pod !== null && creation.pod.version !== life.created)
      found.push(`Pod ${name} was answered with version ${creation.pod.version}, not ${life.created}`)
    if (creation !== undefined && creation.owner !== life.owner)
      found.push(`Pod ${name} belongs to ${life.owner}, not to ${creation.owner}`)
  }
  for (const { id, pod } of creations.values()) {
    if (pod !== null && !byCreation.has(id)) found.push(`Pod ${pod.name} was acknowledged, and lost: ${id}`)
  }
  return found
}

function bindingViolations(
  { name, uid, node }: PodLife,
  journal: Journal,
  nodes: ReadonlySet<string>,
): readonly string[] {
  const bindings = journal.bindings.filter((binding) => binding.uid === uid)
  const bound = bindings.filter(({ outcome }) => outcome === 'bound')
  const targets = bound.map((binding) => binding.node).join(', ')
  if (bound.length > 1) return [`Pod ${name} was bound ${bound.length} times: ${targets}`]
  if (node === null) return bound.length > 0 ? [`the binding of Pod ${name} to ${targets} was lost`] : []
  if (!nodes.has(node)) return [`Pod ${name} is bound to ${node}, which does not exist`]
  if (bound.length > 0 && targets !== node) return [`Pod ${name} is on ${node}, but was bound to ${targets}`]
  const isRequested = bindings.some((binding) => binding.node === node && binding.outcome !== 'refused')
  return isRequested ? [] : [`no request that may have succeeded bound Pod ${name} to ${node}`]
}

function deletionViolations(lives: readonly PodLife[], { deletions }: Journal): readonly string[] {
  const effective = deletions.filter(({ outcome }) => outcome !== 'refused')
  const begun = new Set(effective.filter(({ by }) => by !== 'agent').map(({ uid }) => uid))
  const ended = new Set(effective.filter(({ by }) => by === 'agent').map(({ uid }) => uid))
  const alive = new Set(lives.filter(({ inactive }) => inactive === null).map(({ uid }) => uid))
  return [
    ...lives.flatMap(({ name, uid, node, inactive, deleting, gone }) => {
      if (inactive !== null && !begun.has(uid)) return [`Pod ${name} was lost: no request deleted it`]
      if (gone === null || node === null) return []
      if (deleting === null) return [`Pod ${name} was bound, and was removed without its grace period`]
      return ended.has(uid) ? [] : [`Pod ${name} was removed before its agent ended it`]
    }),
    ...deletions
      .filter(({ uid, outcome }) => outcome === 'deleted' && alive.has(uid))
      .map(({ uid, by }) => `the deletion of Pod ${uid} by the ${by} was acknowledged, and lost`),
  ]
}
