import { creationAnnotation } from './owned.ts'
import type { RecordedEvent, StoredObject } from './watch-recorder.ts'

/** The life of one Pod; times are versions, null: it did not happen. */
export type PodLife = {
  readonly uid: string
  readonly name: string
  /** The UID of its ReplicaSet; empty without one. */
  readonly owner: string
  /** The id of the request that created it; empty: it names none. */
  readonly creation: string
  readonly created: number
  node: string | null
  /** It no longer counts for its ReplicaSet: it is being deleted, has finished or is gone. */
  inactive: number | null
  /** The deletion of a bound Pod begins; it waits for the agent. */
  deleting: number | null
  gone: number | null
}

export type PodHistory = { readonly lives: readonly PodLife[]; readonly violations: readonly string[] }

/** Replays the events of Pods, and finds what no order of correct writes leads to. */
export function podHistoryOf(events: readonly RecordedEvent[]): PodHistory {
  const lives = new Map<string, PodLife>()
  const current = new Map<string, PodLife>()
  const violations: string[] = []
  for (const { type, version, object } of events) {
    const { name, uid } = object.metadata
    const what = `${type} of Pod ${name} (${uid}) at ${version}`
    const known = current.get(name)
    if (type === 'ADDED') {
      if (known !== undefined) violations.push(`${what}: it exists since ${known.created}`)
      if (lives.has(uid)) violations.push(`${what}: its UID was used before`)
      const life = lifeOf(object, version)
      lives.set(uid, life)
      current.set(name, life)
      update(life, object, version, what, violations)
      continue
    }
    if (known === undefined || known.uid !== uid) {
      violations.push(`${what}: ${known === undefined ? 'it does not exist' : `it has UID ${known.uid}`}`)
      continue
    }
    if (type === 'MODIFIED') update(known, object, version, what, violations)
    else {
      known.inactive ??= version
      known.gone = version
      current.delete(name)
    }
  }
  return { lives: [...lives.values()], violations }
}

function lifeOf({ metadata }: StoredObject, created: number): PodLife {
  const { uid, name, ownerReferences, annotations } = metadata
  return {
    ...{ uid, name, created, node: null, inactive: null, deleting: null, gone: null },
    owner: ownerReferences?.find(({ kind }) => kind === 'ReplicaSet')?.uid ?? '',
    creation: annotations?.[creationAnnotation] ?? '',
  }
}

function update(
  life: PodLife,
  { metadata, spec, status }: StoredObject,
  version: number,
  what: string,
  violations: string[],
): void {
  const node = spec?.nodeName ?? null
  if (life.node !== null && node !== life.node)
    violations.push(`${what}: it is bound to ${life.node}, and now to ${node}`)
  life.node ??= node
  const isDeleting = metadata.deletionTimestamp !== undefined
  if (life.deleting !== null && !isDeleting) violations.push(`${what}: its deletion was taken back`)
  if (isDeleting) life.deleting ??= version
  const isFinished = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  if (isDeleting || isFinished) life.inactive ??= version
}
