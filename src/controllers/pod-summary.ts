import { objectMember, textMember } from '../api/json.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { isClaim, podReferences } from '../registry/kinds/node-references.ts'
import type { Reference } from '../registry/kinds/node-references.ts'
import type { StoredObject } from '../store/object-store.ts'

/** The facts of a Pod that controllers decide by. */
export type PodSummary = {
  readonly uid: string
  readonly resourceVersion: string
  /** Empty: not bound to a node yet. */
  readonly node: string
  /** The claims that it uses. Empty while it has no node. */
  readonly claims: readonly Reference[]
  /** Whether its containers have ended for good. */
  readonly ended: boolean
  readonly createdMs: number
  /** Whether it is deleted without a grace period: only finalizers keep it. */
  readonly forced: boolean
}

export function podSummaryOf(stored: StoredObject): PodSummary {
  const pod = parseStored(stored)
  const { resourceVersion = '', deletionGracePeriodSeconds } = pod.metadata
  const { node, references } = podReferences(pod, null)
  const phase = textMember(objectMember(pod, 'status'), 'phase')
  return {
    ...{ uid: stored.uid, resourceVersion, node },
    claims: references.filter(isClaim),
    ended: phase === 'Succeeded' || phase === 'Failed',
    createdMs: parseTimeMs(textMember(pod.metadata, 'creationTimestamp')) ?? 0,
    forced: stored.terminating && deletionGracePeriodSeconds === 0,
  }
}
