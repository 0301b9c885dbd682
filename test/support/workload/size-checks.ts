import type { Creation, Journal } from './journal.ts'
import type { PodLife } from './pod-history.ts'
import type { RecordedEvent } from './watch-recorder.ts'

type Size = { readonly version: number; readonly replicas: number }

/**
 * Returns where a ReplicaSet had more Pods than the rule of the controller admits, or lost more to
 * the controller than it had to.
 *
 * The rule: a creation is decided for the size that the cache shows, when the cache shows all Pods
 * of answered requests. So at each revision there are at most as many active Pods as this size plus
 * the creations whose outcome the controller did not know when it decided.
 */
export function sizeViolations(
  lives: readonly PodLife[],
  replicaSets: readonly RecordedEvent[],
  journal: Journal,
): readonly string[] {
  const sizes = sizesOf(replicaSets)
  const byOwner = new Map<string, PodLife[]>()
  for (const life of lives) {
    const own = byOwner.get(life.owner) ?? []
    byOwner.set(life.owner, own)
    own.push(life)
  }
  return [...byOwner].flatMap(([owner, own]) => {
    const history = sizes.get(owner)
    if (history === undefined) return [`Pod ${own[0]?.name} belongs to ${owner}, which never existed`]
    return [...tooMany(own, history, journal), ...tooFew(owner, own, history, journal)]
  })
}

/** Returns the sizes of each ReplicaSet, oldest first, by UID. */
function sizesOf(events: readonly RecordedEvent[]): ReadonlyMap<string, readonly Size[]> {
  const sizes = new Map<string, Size[]>()
  for (const { type, version, object } of events) {
    const { uid } = object.metadata
    const own = sizes.get(uid) ?? []
    sizes.set(uid, own)
    const replicas = type === 'DELETED' ? 0 : (object.spec?.replicas ?? 1)
    if (own.at(-1)?.replicas !== replicas) own.push({ version, replicas })
  }
  return sizes
}

function isUncertain(creation: Creation | undefined): boolean {
  return creation === undefined || creation.outcome !== 'created' || creation.isAbandoned
}

function tooMany(own: readonly PodLife[], history: readonly Size[], journal: Journal): readonly string[] {
  return own.flatMap((life) => {
    const { name, created } = life
    const creation = journal.creations.get(life.creation)
    if (creation === undefined) return []
    const active = own.filter((one) => one.created <= created && (one.inactive ?? Infinity) > created)
    const uncertain = active.filter((one) => isUncertain(journal.creations.get(one.creation)))
    const known = history.findLast(({ version }) => version <= creation.ownerVersion)
    if (known?.replicas !== creation.replicas) {
      const was = known === undefined ? 'did not exist' : `had ${known.replicas} replicas`
      return [`Pod ${name} was created for ${creation.replicas} replicas, but its ReplicaSet ${was}`]
    }
    // A request without an answer may take effect after later decisions.
    const since = history.filter(({ version }) => version > creation.ownerVersion && version <= created)
    const later = isUncertain(creation) ? since.map(({ replicas }) => replicas) : []
    const admitted = Math.max(creation.replicas, ...later) + uncertain.length
    if (active.length <= admitted) return []
    const names = active.map((one) => `${one.name} (${one.creation})`).join(', ')
    return [`${active.length} Pods at ${created}, of ${admitted} that are admitted: ${names}`]
  })
}

function tooFew(
  owner: string,
  own: readonly PodLife[],
  history: readonly Size[],
  journal: Journal,
): readonly string[] {
  const uids = new Set(own.map(({ uid }) => uid))
  const deletions = journal.deletions.filter(({ uid, by }) => by === 'controller' && uids.has(uid))
  const deleted = new Set(deletions.filter(({ outcome }) => outcome !== 'refused').map(({ uid }) => uid))
  const unknown = deletions.filter(({ outcome }) => outcome === 'unknown' || outcome === 'pending').length
  const reductions = history.slice(1).map(({ replicas }, at) => (history[at]?.replicas ?? 0) - replicas)
  const reduced = reductions.reduce((sum, by) => sum + Math.max(0, by), 0)
  const uncertain = own.filter((one) => isUncertain(journal.creations.get(one.creation))).length
  const needed = reduced + uncertain + unknown
  if (deleted.size <= needed) return []
  return [`the controller deleted ${deleted.size} Pods of ${owner}, and had to delete ${needed} at most`]
}
