import { objectMember, objectsMember, textMember } from '../api/json.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { isClaim, podReferences } from '../registry/kinds/node-references.ts'
import type { PodReferences, Reference } from '../registry/kinds/node-references.ts'
import type { StoredObject } from '../store/object-store.ts'

/** The facts of a Pod that controllers and the authorizer of nodes decide by. */
export type PodSummary = PodReferences & {
  readonly uid: string
  readonly resourceVersion: string
  /** The claims that it uses, also those of a mirror Pod. Empty while it has no node. */
  readonly claims: readonly Reference[]
  /** The names of its volumes that need a claim of their own. */
  readonly ephemeralVolumes: readonly string[]
  /** Whether its containers have ended for good. */
  readonly ended: boolean
  readonly createdMs: number
  /** Whether it is being deleted. */
  readonly terminating: boolean
  /** Whether it is deleted without a grace period: only finalizers keep it. */
  readonly forced: boolean
}

/** @param mirrorAnnotation see `podReferences` */
export function podSummaryOf(mirrorAnnotation: string, stored: StoredObject): PodSummary {
  const pod = parseStored(stored)
  const { resourceVersion = '', deletionGracePeriodSeconds, annotations = {} } = pod.metadata
  const { node, references } = podReferences(pod, null)
  const isMirror = annotations[mirrorAnnotation] !== undefined
  const phase = textMember(objectMember(pod, 'status'), 'phase')
  return {
    ...{ uid: stored.uid, resourceVersion, node, references: isMirror ? [] : references },
    claims: references.filter(isClaim),
    ephemeralVolumes: ephemeralVolumesOf(pod),
    ended: phase === 'Succeeded' || phase === 'Failed',
    createdMs: parseTimeMs(textMember(pod.metadata, 'creationTimestamp')) ?? 0,
    terminating: stored.terminating,
    forced: stored.terminating && deletionGracePeriodSeconds === 0,
  }
}

function ephemeralVolumesOf(pod: AnyObject): readonly string[] {
  const volumes = objectsMember(objectMember(pod, 'spec'), 'volumes')
  const own = volumes.filter((volume) => Object.hasOwn(volume, 'ephemeral'))
  return own.length === 0 ? none : own.map((volume) => textMember(volume, 'name'))
}

/** Shared by most Pods. */
const none: readonly string[] = []
